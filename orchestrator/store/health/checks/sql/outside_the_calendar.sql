-- A day at either end stays free, since no clock of another zone could tell what is there.
SELECT concat_ws(', ', beyond(r.recorded_at), beyond(r.source_measured_at)) AS fault
FROM records r
WHERE NOT in_calendar(r.recorded_at) OR NOT in_calendar(r.source_measured_at)
