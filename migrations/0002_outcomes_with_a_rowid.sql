-- Written by hand. A stored answer has more than 1,000 bytes: without a rowid each would take a page of its own.
ALTER TABLE `idempotency_outcomes` RENAME TO `old_idempotency_outcomes`;
--> statement-breakpoint
CREATE TABLE `idempotency_outcomes` (
	`platform_id` text NOT NULL,
	`request_key` text NOT NULL,
	`body_hash` text NOT NULL,
	`status` integer NOT NULL,
	`body` text NOT NULL,
	`sealed` integer NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`platform_id`, `request_key`)
);
--> statement-breakpoint
INSERT INTO `idempotency_outcomes` (`platform_id`, `request_key`, `body_hash`, `status`, `body`, `sealed`, `expires_at`)
SELECT `platform_id`, `request_key`, `body_hash`, `status`, `body`, `sealed`, `expires_at` FROM `old_idempotency_outcomes`;
--> statement-breakpoint
DROP TABLE `old_idempotency_outcomes`;
--> statement-breakpoint
CREATE INDEX `idempotency_outcomes_due` ON `idempotency_outcomes` (`expires_at`);
