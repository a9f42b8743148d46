"""The server scenario: queries arrive at random, up to the peak rate that meets a latency limit."""
