-- Macros that the checks share: rows of ours, and how far two numbers may differ.

CREATE OR REPLACE TEMP MACRO is_ours(source) AS source IN ('accelmatrix', 'synthetic');

-- Clocks of two machines may differ by a minute.
CREATE OR REPLACE TEMP MACRO latest_moment() AS getvariable('moment')::TIMESTAMPTZ + INTERVAL 1 MINUTE;

-- Half of the last digit of a number as it is printed: 0.05 for 12.3, 5e-8 for 1e-7.
CREATE OR REPLACE TEMP MACRO half_digit(x) AS 0.5 * pow(10,
    coalesce(try_cast(split_part(x::DOUBLE::VARCHAR, 'e', 2) AS INTEGER), 0)
    - length(rtrim(split_part(split_part(x::DOUBLE::VARCHAR, 'e', 1), '.', 2), '0')));

-- Numbers of ours are doubles. Others print theirs with few digits, and keep raw durations as
-- fractions of a second, rounded to nanoseconds.
CREATE OR REPLACE TEMP MACRO rounding(x, y, source) AS
    1e-9 * abs(y)
    + CASE WHEN is_ours(source) THEN 1e-12 ELSE half_digit(x) + half_digit(y) + 1e-9 END;

-- True if two numbers differ by more than doubles do: a cheap test, before `rounding` is computed.
CREATE OR REPLACE TEMP MACRO differs(x, y) AS abs(x - y) > 1e-9 * abs(y) + 1e-12;

-- Two numbers to compare: a column, and what it should be or must not exceed. Without `concat` the
-- alias of a field's value would be the field's name.
CREATE OR REPLACE TEMP MACRO pair(x, y) AS
    {'name': concat(alias(x)), 'x': x::DOUBLE, 'upper': concat(alias(y)), 'y': y::DOUBLE,
    'needed': false};

-- The same, if the column must not be null where the other number is known.
CREATE OR REPLACE TEMP MACRO needed_pair(x, y, needed) AS
    {'name': concat(alias(x)), 'x': x::DOUBLE, 'upper': concat(alias(y)), 'y': y::DOUBLE,
    'needed': needed};

-- `<name> is <x>, not <y>` for each pair that differs beyond rounding.
CREATE OR REPLACE TEMP MACRO contradictions(pairs, source) AS array_to_string([
    p.name || ' is ' || coalesce(p.x::VARCHAR, 'null') || ', not ' || p.y
    FOR p IN pairs
    IF abs(p.x - p.y) > rounding(p.x, p.y, source) OR (p.needed AND p.x IS NULL AND p.y IS NOT NULL)
], ', ');

-- `<name> <x> is above <upper> <y>` for each pair in which it is, beyond rounding.
CREATE OR REPLACE TEMP MACRO disorder(pairs, source) AS array_to_string([
    p.name || ' ' || p.x || ' is above ' || p.upper || ' ' || p.y
    FOR p IN pairs
    IF p.x > p.y AND p.x - p.y > rounding(p.x, p.y, source)
], ', ');

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

-- The value that raw durations derive, or the stored one where both are the same.
CREATE OR REPLACE TEMP MACRO derived(x, y) AS CASE WHEN differs(x, y) THEN y ELSE x END;

-- The same, and the derived value where none is stored.
CREATE OR REPLACE TEMP MACRO derived_or_gap(x, y) AS coalesce(derived(x, y), y);

-- No time, rate, size or number of a benchmark reaches this, in whatever base unit.
CREATE OR REPLACE TEMP MACRO too_large() AS 1e19;

-- `<name> is <x>` if a number cannot be; null if it can, or is not given.
CREATE OR REPLACE TEMP MACRO negative(x) AS
    CASE WHEN NOT (x >= 0 AND x < too_large()) THEN alias(x) || ' is ' || x END;
CREATE OR REPLACE TEMP MACRO zero(x) AS CASE WHEN x = 0 THEN alias(x) || ' is ' || x END;
CREATE OR REPLACE TEMP MACRO no_size(x) AS CASE WHEN x <= 0 THEN alias(x) || ' is ' || x END;
CREATE OR REPLACE TEMP MACRO not_positive(source, x) AS
    CASE WHEN NOT (x > 0 AND x < too_large()) AND (x <> 0 OR is_ours(source))
        THEN alias(x) || ' is ' || x END;
CREATE OR REPLACE TEMP MACRO below_zero(x) AS CASE WHEN x < 0 THEN alias(x) || ' is ' || x END;
CREATE OR REPLACE TEMP MACRO outside(x, lowest, highest) AS
    CASE WHEN NOT (x BETWEEN lowest AND highest) THEN alias(x) || ' is ' || x END;
CREATE OR REPLACE TEMP MACRO infinite(x) AS
    CASE WHEN NOT isfinite(x) THEN alias(x) || ' is ' || x END;

-- Whether the lists of a curve have one length, and one has numbers alone that it can have.
CREATE OR REPLACE TEMP MACRO fits(a, b, c, d, e) AS
    coalesce(len(a) = len(b) AND len(a) = len(c) AND len(a) = len(d) AND len(a) = len(e), false);
CREATE OR REPLACE TEMP MACRO positive(x) AS
    coalesce(list_min(x) > 0 AND list_max(x) < too_large() AND len(x) = list_count(x), true);

-- `<name> is <x>` if a word is not one of those that docs/schema.md lists for the column.
CREATE OR REPLACE TEMP MACRO unknown(x) AS
    CASE WHEN NOT list_contains(getvariable('words')[alias(x)], x) THEN alias(x) || ' is ' || x END;

-- Moments that every program can tell in every zone.
CREATE OR REPLACE TEMP MACRO in_calendar(x) AS
    x >= TIMESTAMPTZ '0001-01-02 00:00:00+00' AND x < TIMESTAMPTZ '9999-12-31 00:00:00+00';
CREATE OR REPLACE TEMP MACRO beyond(x) AS
    CASE WHEN NOT in_calendar(x) THEN alias(x) || ' is ' || x::VARCHAR END;
