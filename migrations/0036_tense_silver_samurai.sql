DROP INDEX `chain_operations_checks`;--> statement-breakpoint
CREATE INDEX `chain_operations_checks` ON `chain_operations` (`kind`,`next_check_at`) WHERE next_check_at is not null;--> statement-breakpoint
DROP INDEX `refunds_by_settlement`;--> statement-breakpoint
ALTER TABLE `refunds` ADD `contract` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `refunds_by_settlement` ON `refunds` (`network`,`settlement_key`,`contract`,`mined_at`,`block_number`,`amount`);