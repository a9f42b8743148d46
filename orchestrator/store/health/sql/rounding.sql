-- Macros that the checks' sentences share beside those of conditions: how far two numbers may
-- differ, and what is said of those that do.

-- Numbers of ours are doubles. Others print theirs with few digits, and keep raw durations as
-- fractions of a second, rounded to nanoseconds.
CREATE OR REPLACE TEMP MACRO rounding(x, y, source) AS
    1e-9 * abs(y)
    + CASE WHEN is_ours(source) THEN 1e-12 ELSE half_digit(x) + half_digit(y) + 1e-9 END;

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

-- The value that raw durations derive, or the stored one where both are the same.
CREATE OR REPLACE TEMP MACRO derived(x, y) AS CASE WHEN differs(x, y) THEN y ELSE x END;

-- The same, and the derived value where none is stored.
CREATE OR REPLACE TEMP MACRO derived_or_gap(x, y) AS coalesce(derived(x, y), y);

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

-- `<name> is <x>` if a moment is not one of those.
CREATE OR REPLACE TEMP MACRO beyond(x) AS
    CASE WHEN NOT in_calendar(x) THEN alias(x) || ' is ' || x::VARCHAR END;
