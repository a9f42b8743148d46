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
SELECT * FROM sniff_csv('secret.csv')
SELECT * FROM read_blob('secret.txt')
SELECT * FROM read_json_auto('other.json')
SELECT * FROM parquet_metadata('other.parquet')
SELECT * FROM parquet_bloom_probe('other.parquet', 'a', 1)
SELECT * FROM './secret.csv'
SELECT * FROM 'file:///etc/hostname'
SELECT * FROM 'https://example.org/a.csv'
SELECT * FROM read_text('s3://bucket/key')
SELECT * FROM "secret.csv"
FROM query_table(['secret.csv', 'benchmark_results'])
FROM query('COPY benchmark_results TO ''stolen.csv''')
SELECT getenv('HOME')
SELECT * FROM which_secret('s3://a', 's3')
SELECT * FROM enable_logging()
SELECT * FROM enable_profiling()
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM ''secret.csv'''))
SELECT * FROM sqlite_scan('secret.txt', 'a')
SELECT * FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)
SELECT * FROM python_map_function((SELECT 1))
SELECT * FROM connection
EXPLAIN ANALYZE SELECT * FROM 'secret.csv'
DESCRIBE (FROM read_text('secret.txt'))
SUMMARIZE 'secret.csv'
PIVOT 'secret.csv' ON word USING count(*)
WITH a AS (UPDATE benchmark_runs SET source = 'x' RETURNING *) FROM a
EXECUTE q
COPY FROM DATABASE memory TO b
IMPORT DATABASE '.'
CREATE SECRET s (TYPE s3)
CREATE TEMP MACRO f(a) AS TABLE SELECT * FROM read_text(a)
MERGE INTO benchmark_runs USING benchmark_runs AS o USING (run_id) WHEN MATCHED THEN DELETE
SET GLOBAL memory_limit = '90%'
SET allowed_directories = ['/']
PRAGMA import_database('.')
FORCE INSTALL spatial FROM 'https://example.org'
SELECT * FROM read_csv('/dev/fd/0')
SELECT * FROM read_text('/proc/self/environ')
SELECT * FROM range(3) t(i), LATERAL (FROM read_text('secret' || i || '.txt'))
VALUES ((SELECT count(*) FROM 'secret.csv'))
