DELETE FROM benchmark_results
DROP VIEW benchmark_performance
COPY benchmark_results TO 'stolen.csv'
SELECT * FROM read_csv('/etc/hostname')
SELECT * FROM '/etc/hostname'
ATTACH 'other.duckdb'
SET enable_external_access = true
SET lock_configuration = false
INSTALL httpfs
EXPORT DATABASE 'everything'
SELECT * FROM 'other.csv'
SELECT * FROM glob('/etc/*')
SELECT * FROM read_text('/etc/hostname')
ATTACH ':memory:' AS more
DETACH store
LOAD json
SET memory_limit = '1GB'
RESET threads
PRAGMA threads = 1
PRAGMA database_list
CALL pragma_version()
CREATE TABLE mine (a INT)
CREATE TEMP TABLE mine (a INT)
CREATE TABLE memory.mine (a INT)
CREATE MACRO f() AS 1
INSERT INTO benchmark_results SELECT * FROM benchmark_results
UPDATE benchmark_results SET model = 'mine'
USE memory
BEGIN
CHECKPOINT
VACUUM
PREPARE q AS SELECT 1
EXPLAIN ANALYZE DELETE FROM benchmark_results
EXPLAIN ANALYZE COPY (SELECT 1) TO 'stolen.csv'
SELECT 1; SELECT 2
SELECT 1; DROP TABLE benchmark_results
WITH gone AS (DELETE FROM benchmark_results RETURNING *) SELECT * FROM gone
CREATE TEMP TABLE t AS SELECT 1
SELECT 1; DELETE FROM benchmark_results
SELECT * FROM glob('*')
RESET enable_external_access
PRAGMA enable_profiling
SELECT * FROM read_text('secret.txt')
SELECT * FROM read_text((SELECT 'secret.txt'))
SELECT * FROM 'secret.csv'
FROM query('SELECT * FROM read_text(''secret.txt'')')
secret
SELECT * FROM secret
