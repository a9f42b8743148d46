SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
    'backend ' || coalesce(r.backend, 'null') || ', source ' || r.source AS fault
FROM benchmark_results r
WHERE (r.backend = 'fake' OR r.source = 'synthetic') AND NOT (SELECT scratch FROM schema_version)
