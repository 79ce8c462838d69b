CREATE INDEX `agents_by_delegator` ON `agents` (delegators ->> 0) WHERE delegators <> '[]';
