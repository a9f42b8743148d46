SELECT r.rounds || if(r.rounds = 1, ' round of ', ' rounds of ')
        || array_to_string(r.round_iterations, ' + ')
        || ' iterations, ' || r.iterations || ' in all' AS fault
FROM records r
WHERE list_sum(r.round_iterations) <> r.iterations OR len(r.round_iterations) <> r.rounds
