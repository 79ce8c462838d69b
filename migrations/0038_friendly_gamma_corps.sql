DROP INDEX `ledger_differences_newest`;--> statement-breakpoint
CREATE INDEX `ledger_differences_by_did` ON `ledger_differences` (`did`,`found_at`,`network`,`contract`,`held`,`expected`);--> statement-breakpoint
CREATE INDEX `ledger_differences_newest` ON `ledger_differences` (`found_at`,`network`,`did`,`contract`,`held`,`expected`);--> statement-breakpoint
DROP INDEX `escrows_behind`;--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`behind_since`,`did`,`environment`,`network`) WHERE abs(max(threshold, other_threshold) - chain_threshold) * 20 - base_threshold >= 0 and base_threshold > 0;