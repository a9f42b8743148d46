SELECT r.marks[1] AS fault
FROM records r
WHERE len(r.marks) > 0 AND NOT r.simulated
