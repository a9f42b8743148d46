-- Words that docs/schema.md does not list. Others may have words of their own where a column may
-- be null.
SELECT * FROM (
    SELECT r.rowid AS row_id, r.result_id AS subject, r.source, concat_ws(', ',
            CASE WHEN is_ours(r.source) THEN unknown(r.family) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.modality) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.backend) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.runtime) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.precision) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.mode) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.scenario) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.purpose) END,
            unknown(r.status),
            CASE WHEN is_ours(r.source) THEN unknown(r.phase) END,
            unknown(r.proof),
            CASE WHEN is_ours(r.source) THEN unknown(r.grade) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.weights) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.steady_change_kind) END,
            CASE WHEN is_ours(r.source) THEN unknown(r.training_precision) END
        ) AS fault
    FROM benchmark_results r
)
WHERE fault <> ''
