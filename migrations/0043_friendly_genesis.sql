CREATE TABLE `dispute_awards` (
	`dispute_id` text PRIMARY KEY NOT NULL,
	`award` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `dispute_evidence` (
	`dispute_id` text NOT NULL,
	`number` integer NOT NULL,
	`submitted_by` text NOT NULL,
	`description` text NOT NULL,
	`uri` text,
	`sha256` text,
	`media_type` text,
	`submitted_at` integer NOT NULL,
	PRIMARY KEY(`dispute_id`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `dispute_messages` (
	`dispute_id` text NOT NULL,
	`number` integer NOT NULL,
	`message` text NOT NULL,
	`offer` integer,
	`sent_at` integer NOT NULL,
	PRIMARY KEY(`dispute_id`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `disputes` (
	`dispute_id` text PRIMARY KEY NOT NULL,
	`transaction_id` text NOT NULL,
	`task_id` text NOT NULL,
	`attempt` integer NOT NULL,
	`environment` text NOT NULL,
	`consumer_did` text NOT NULL,
	`provider_did` text NOT NULL,
	`consumer_platform_id` text NOT NULL,
	`provider_platform_id` text NOT NULL,
	`network` text NOT NULL,
	`currency` text NOT NULL,
	`gross` integer NOT NULL,
	`contract` text NOT NULL,
	`settlement_key` text NOT NULL,
	`status` text NOT NULL,
	`reason` text NOT NULL,
	`description` text,
	`resolution_sought` text,
	`disputed` integer NOT NULL,
	`bounty` integer NOT NULL,
	`filed_at` integer NOT NULL,
	`answers_until` integer NOT NULL,
	`responded_at` integer,
	`offer` integer,
	`messages` integer DEFAULT 0 NOT NULL,
	`evidence` integer DEFAULT 0 NOT NULL,
	`arbitration_at` integer,
	`due_at` integer,
	`resolution` text,
	`resolved_at` integer,
	`ended_by` text,
	`finding` text,
	`refund` integer DEFAULT 0 NOT NULL,
	`refund_from` text,
	`refund_status` text DEFAULT 'none' NOT NULL,
	`owed` integer DEFAULT 0 NOT NULL,
	`paid_out` integer DEFAULT 0 NOT NULL,
	`bounty_paid` integer DEFAULT 0 NOT NULL,
	`bounty_by` text,
	`held_ms` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `disputes_by_transaction` ON `disputes` (`transaction_id`,`attempt`);--> statement-breakpoint
CREATE INDEX `disputes_due` ON `disputes` (`due_at`,`dispute_id`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `disputes_due_in_sandbox` ON `disputes` (`consumer_platform_id`,`due_at`) WHERE due_at is not null and environment = 'sandbox';--> statement-breakpoint
CREATE INDEX `disputes_against` ON `disputes` (`provider_platform_id`,`environment`,`filed_at`,`dispute_id`) WHERE provider_platform_id <> consumer_platform_id;--> statement-breakpoint
CREATE INDEX `disputes_filed` ON `disputes` (`consumer_platform_id`,`environment`,`filed_at`,`dispute_id`) WHERE provider_platform_id <> consumer_platform_id;--> statement-breakpoint
CREATE INDEX `disputes_within` ON `disputes` (`provider_platform_id`,`environment`,`filed_at`,`dispute_id`) WHERE provider_platform_id = consumer_platform_id;--> statement-breakpoint
CREATE INDEX `disputes_by_provider` ON `disputes` (`provider_did`,`environment`,`filed_at`,`dispute_id`);--> statement-breakpoint
CREATE INDEX `disputes_refunded` ON `disputes` (`settlement_key`,`network`) WHERE refund_from = 'provider';--> statement-breakpoint
CREATE INDEX `disputes_by_consumer` ON `disputes` (`consumer_did`,`environment`,`filed_at`,`dispute_id`);--> statement-breakpoint
ALTER TABLE `escrows` ADD `disputed` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `escrows` ADD `owed` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `ledger_lines` ADD `settlement_key` text;--> statement-breakpoint
CREATE INDEX `ledger_lines_paid_out` ON `ledger_lines` (`settlement_key`,`network`,`contract`) WHERE kind = 'payout';--> statement-breakpoint
ALTER TABLE `tasks` ADD `held_ms` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `verdict` text;--> statement-breakpoint
ALTER TABLE `tasks` ADD `verdict_score` real;--> statement-breakpoint
CREATE INDEX `tasks_held_sold` ON `tasks` (`provider_did`,`environment`,`confirm_by`,`task_id`) WHERE status = 'disputed';--> statement-breakpoint
CREATE INDEX `tasks_held_bought` ON `tasks` (`consumer_did`,`environment`,`confirm_by`,`task_id`) WHERE status = 'disputed';--> statement-breakpoint
CREATE INDEX `agents_disputed` ON `agents` (`platform_id`,`environment`,`principal_id`) WHERE disputes_open > 0;