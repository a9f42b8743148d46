"""The offline scenario: the batch that processes most samples a second is sought, then measured."""
