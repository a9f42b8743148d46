-- Macros that the checks' conditions share: rows of ours, what is possible, what differs.

CREATE OR REPLACE TEMP MACRO is_ours(source) AS source IN ('accelmatrix', 'synthetic');

-- Clocks of two machines may differ by a minute.
CREATE OR REPLACE TEMP MACRO latest_moment() AS getvariable('moment')::TIMESTAMPTZ + INTERVAL 1 MINUTE;

-- Half of the last digit of a number as it is printed: 0.05 for 12.3, 5e-8 for 1e-7.
CREATE OR REPLACE TEMP MACRO half_digit(x) AS 0.5 * pow(10,
    coalesce(try_cast(split_part(x::DOUBLE::VARCHAR, 'e', 2) AS INTEGER), 0)
    - length(rtrim(split_part(split_part(x::DOUBLE::VARCHAR, 'e', 1), '.', 2), '0')));

-- True if two numbers differ by more than doubles do: a cheap test, before `rounding` is computed.
CREATE OR REPLACE TEMP MACRO differs(x, y) AS abs(x - y) > 1e-9 * abs(y) + 1e-12;

-- The median of durations in nanoseconds, as seconds; of a result with several rounds, which then
-- states their medians, the mean of these.
CREATE OR REPLACE TEMP MACRO middle_s(durations_ns, counts, medians) AS
    CASE WHEN len(medians) > 1 AND len(counts) = len(medians) THEN list_avg([
        list_median(list_slice(
            durations_ns,
            (list_sum(counts[1:i]) - counts[i] + 1)::BIGINT,
            list_sum(counts[1:i])::BIGINT
        ))
        FOR i IN range(1, len(counts) + 1)
    ]) ELSE list_median(durations_ns) END / 1e9;

-- The times per output token of generations, nanoseconds: the time behind the first token by the
-- number of the others. Null where they cannot be told.
CREATE OR REPLACE TEMP MACRO per_output_token(durations_ns, first_tokens_ns, new_tokens) AS
    CASE WHEN new_tokens > 1 AND len(durations_ns) = len(first_tokens_ns)
    THEN list_transform(
        list_zip(durations_ns, first_tokens_ns),
        lambda each: (each[1] - each[2]) / (new_tokens - 1)
    ) END;

-- No time, rate, size or number of a benchmark reaches this, in whatever base unit.
CREATE OR REPLACE TEMP MACRO too_large() AS 1e19;

-- Whether the lists of a curve have one length, and one has numbers alone that it can have.
CREATE OR REPLACE TEMP MACRO fits(a, b, c, d, e) AS
    coalesce(len(a) = len(b) AND len(a) = len(c) AND len(a) = len(d) AND len(a) = len(e), false);
CREATE OR REPLACE TEMP MACRO positive(x) AS
    coalesce(list_min(x) > 0 AND list_max(x) < too_large() AND len(x) = list_count(x), true);

-- Moments that every program can tell in every zone.
CREATE OR REPLACE TEMP MACRO in_calendar(x) AS
    x >= TIMESTAMPTZ '0001-01-02 00:00:00+00' AND x < TIMESTAMPTZ '9999-12-31 00:00:00+00';
