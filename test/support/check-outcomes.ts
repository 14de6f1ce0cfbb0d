/** A query for permissions whose outcome does not fit their state, with what it finds. */
export const OUTCOME_CHECK: [fault: string, sql: string] = [
  'an outcome that does not fit the state of its permission',
  `select hex(id) as subject from permissions
   where (outcome_state is null) <> (request_entry is null)
     or (outcome_state is null and coalesce(used_by, outcome_due_at, outcome_reported_at, outcome_summary) is not null)
     or (outcome_state = 0) <> (outcome_state is not null and coalesce(token_uses, 0) = 0)
     or (outcome_state > 0 and (max_uses <> 1 or used_by is null or outcome_due_at is null))
     or (outcome_state in (0, 1) and outcome_reported_at is not null)
     or (outcome_state in (3, 4) and outcome_reported_at is null)`,
];
