SELECT 'simulated' AS fault
FROM records r
WHERE r.source = 'accelmatrix' AND r.simulated
