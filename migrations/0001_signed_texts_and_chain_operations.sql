CREATE TABLE `status_lists` (
	`list_id` integer PRIMARY KEY NOT NULL,
	`size` integer NOT NULL,
	`counted_at` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`signed_at` integer,
	`signed` text
);
--> statement-breakpoint
CREATE TABLE `chain_operations` (
	`network` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`wanted` text NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`tx_hash` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`next_check_at` integer,
	`checks` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`network`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `chain_operations_checks` ON `chain_operations` (`next_check_at`) WHERE next_check_at is not null;
--> statement-breakpoint
CREATE TABLE `alert_mails` (
	`kind` text PRIMARY KEY NOT NULL,
	`sent_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `alerts` (
	`alert_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`message` text NOT NULL,
	`raised_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	`seen` integer DEFAULT 1 NOT NULL,
	`mailed_at` integer,
	`acknowledged_at` integer,
	`acknowledged_by` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_open` ON `alerts` (`kind`,`subject`) WHERE acknowledged_at is null;
--> statement-breakpoint
CREATE INDEX `alerts_by_time` ON `alerts` (`raised_at`,`alert_id`);
--> statement-breakpoint
CREATE INDEX `alerts_unmailed` ON `alerts` (`kind`,`raised_at`) WHERE mailed_at is null and acknowledged_at is null;
--> statement-breakpoint
CREATE TABLE `jobs` (
	`name` text PRIMARY KEY NOT NULL,
	`started_at` integer NOT NULL,
	`progressed_at` integer NOT NULL,
	`finished_at` integer,
	`oldest_due_at` integer,
	`found` integer NOT NULL,
	`pending` integer NOT NULL,
	`done` integer NOT NULL,
	`failed` integer NOT NULL,
	`last_error` text,
	`last_error_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outbox` (
	`name` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `receipts` (
	`transaction_id` text PRIMARY KEY NOT NULL,
	`receipt` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `spend_sums` (
	`did` text PRIMARY KEY NOT NULL,
	`settled` integer NOT NULL,
	`open` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `cascades` (
	`principal_id` text PRIMARY KEY NOT NULL,
	`trigger` text NOT NULL,
	`reason` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`started_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cascades_by_start` ON `cascades` (`started_at`,`principal_id`);
--> statement-breakpoint
ALTER TABLE `platforms` ADD `clock_offset_ms` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE INDEX `platforms_by_status` ON `platforms` (`status`,`platform_id`);
--> statement-breakpoint
DROP INDEX `principals_not_active`;
--> statement-breakpoint
DROP INDEX `escrows_behind`;
--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`did`,`environment`,`network`) WHERE threshold <> chain_threshold;
--> statement-breakpoint
CREATE INDEX `payment_intents_by_provider` ON `payment_intents` (`provider_did`,`consumer_did`,`expires_at`) WHERE status = 'OPEN' and opened_by = provider_did;
--> statement-breakpoint
-- What an agent settled and holds stands apart: it changes with every purchase, the agent's row does not.
INSERT INTO `spend_sums` (`did`, `settled`, `open`)
SELECT `did`, `spend_settled`, `spend_open` FROM `agents` WHERE `spend_settled` <> 0 OR `spend_open` <> 0;
--> statement-breakpoint
-- Lists of 2^16 places follow the one of 2^20, which keeps its certificates. Which CA key signed an old one is in its own header alone.
ALTER TABLE `certificates` RENAME TO `old_certificates`;
--> statement-breakpoint
DROP INDEX `certificates_by_status`;
--> statement-breakpoint
DROP INDEX `certificates_replaced`;
--> statement-breakpoint
CREATE TABLE `certificates` (
	`did` text NOT NULL,
	`jti` text NOT NULL,
	`key_id` text NOT NULL,
	`ca_kid` text NOT NULL,
	`list_id` integer NOT NULL,
	`idx` integer NOT NULL,
	`listed_status` integer DEFAULT 0 NOT NULL,
	`issued_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`replaced_at` integer,
	PRIMARY KEY(`did`, `jti`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `certificates` (`did`, `jti`, `key_id`, `ca_kid`, `list_id`, `idx`, `listed_status`, `issued_at`, `expires_at`, `replaced_at`)
SELECT o.`did`, o.`jti`, o.`key_id`, '', 1, o.`status_list_idx`, CASE a.`status` WHEN 'REVOKED' THEN 1 WHEN 'TERMINATED' THEN 1 WHEN 'SUSPENDED' THEN 2 WHEN 'FUNDING' THEN 2 ELSE 0 END, o.`issued_at`, o.`expires_at`, o.`replaced_at`
FROM `old_certificates` AS o JOIN `agents` AS a ON a.`did` = o.`did`;
--> statement-breakpoint
CREATE UNIQUE INDEX `certificates_by_place` ON `certificates` (`list_id`,`idx`);
--> statement-breakpoint
CREATE INDEX `certificates_exceptions` ON `certificates` (`list_id`,`expires_at`,`idx`,`listed_status`,`replaced_at`) WHERE listed_status <> 0 or replaced_at is not null;
--> statement-breakpoint
INSERT INTO `status_lists` (`list_id`, `size`, `created_at`)
SELECT 1, 1048576, 0 WHERE EXISTS (SELECT 1 FROM `certificates`);
--> statement-breakpoint
INSERT INTO `status_lists` (`list_id`, `size`, `created_at`)
SELECT coalesce(max(`list_id`), 0) + 1, 65536, 0 FROM `status_lists`;
--> statement-breakpoint
DROP TABLE `old_certificates`;
--> statement-breakpoint
-- The whole chain of delegators stands on the row. A document that was stale is one revision behind.
ALTER TABLE `agents` RENAME TO `old_agents`;
--> statement-breakpoint
DROP INDEX `agents_by_platform`;
--> statement-breakpoint
DROP INDEX `agents_by_status`;
--> statement-breakpoint
DROP INDEX `agents_by_role`;
--> statement-breakpoint
DROP INDEX `agents_by_principal`;
--> statement-breakpoint
DROP INDEX `agents_not_active`;
--> statement-breakpoint
CREATE TABLE `agents` (
	`did` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`principal_id` text NOT NULL,
	`economic_role` text NOT NULL,
	`cert_tier` text NOT NULL,
	`display_name` text NOT NULL,
	`description` text,
	`catalog_url` text,
	`endpoint_url` text NOT NULL,
	`authorized_actions` text NOT NULL,
	`capabilities` text NOT NULL,
	`dispute_window_days` integer NOT NULL,
	`max_transaction_value` text,
	`spending_limit` text,
	`minimum_counterparty_cert_tier` text,
	`minimum_counterparty_ar` real,
	`intents_from` text DEFAULT 'anyone' NOT NULL,
	`delegators` text NOT NULL,
	`status` text NOT NULL,
	`suspension_reason` text,
	`suspended_from` text,
	`status_note` text,
	`version` integer NOT NULL,
	`revision` integer NOT NULL,
	`certificate_jti` text,
	`certificate_expires_at` integer,
	`key_id` text,
	`public_jwk` text,
	`rating_weight` real DEFAULT 0 NOT NULL,
	`rating_weighted` real DEFAULT 0 NOT NULL,
	`rating_interactions` integer DEFAULT 0 NOT NULL,
	`rating_counterparties` integer DEFAULT 0 NOT NULL,
	`agent_rating` real,
	`settled_volume` integer DEFAULT 0 NOT NULL,
	`disputes_open` integer DEFAULT 0 NOT NULL,
	`disputes_resolved_for` integer DEFAULT 0 NOT NULL,
	`disputes_resolved_against` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `agents` (`did`, `platform_id`, `environment`, `principal_id`, `economic_role`, `cert_tier`, `display_name`, `description`, `catalog_url`, `endpoint_url`, `authorized_actions`, `capabilities`, `dispute_window_days`, `max_transaction_value`, `spending_limit`, `minimum_counterparty_cert_tier`, `minimum_counterparty_ar`, `intents_from`, `delegators`, `status`, `suspension_reason`, `suspended_from`, `status_note`, `version`, `revision`, `certificate_jti`, `certificate_expires_at`, `key_id`, `public_jwk`, `rating_weight`, `rating_weighted`, `rating_interactions`, `rating_counterparties`, `agent_rating`, `settled_volume`, `disputes_open`, `disputes_resolved_for`, `disputes_resolved_against`, `created_at`, `updated_at`)
SELECT o.`did`, o.`platform_id`, o.`environment`, o.`principal_id`, o.`economic_role`, o.`cert_tier`, o.`display_name`, o.`description`, o.`catalog_url`, o.`endpoint_url`, o.`authorized_actions`, o.`capabilities`, o.`dispute_window_days`, o.`max_transaction_value`, o.`spending_limit`, o.`minimum_counterparty_cert_tier`, o.`minimum_counterparty_ar`, 'anyone', (
  WITH RECURSIVE chain(`did`, `depth`) AS (
    SELECT o.`delegated_by`, 1 WHERE o.`delegated_by` IS NOT NULL
    UNION ALL
    SELECT d.`delegated_by`, chain.`depth` + 1 FROM chain JOIN `old_agents` AS d ON d.`did` = chain.`did`
    WHERE d.`delegated_by` IS NOT NULL AND chain.`depth` < 100
  )
  SELECT json_group_array(`did`) FROM (SELECT `did` FROM chain ORDER BY `depth`)
), o.`status`, o.`suspension_reason`, o.`suspended_from`, o.`status_note`, o.`version`, o.`revision` + coalesce((SELECT d.`stale` FROM `aids` AS d WHERE d.`did` = o.`did`), 0), o.`certificate_jti`, o.`certificate_expires_at`, o.`key_id`, o.`public_jwk`, o.`rating_weight`, o.`rating_weighted`, o.`rating_interactions`, o.`rating_counterparties`, o.`agent_rating`, o.`settled_volume`, o.`disputes_open`, o.`disputes_resolved_for`, o.`disputes_resolved_against`, o.`created_at`, o.`updated_at`
FROM `old_agents` AS o;
--> statement-breakpoint
CREATE INDEX `agents_by_platform` ON `agents` (`platform_id`,`environment`,`created_at`,`did`);
--> statement-breakpoint
CREATE INDEX `agents_by_status` ON `agents` (`platform_id`,`environment`,`status`,`created_at`,`did`);
--> statement-breakpoint
CREATE INDEX `agents_by_role` ON `agents` (`platform_id`,`environment`,`economic_role`,`created_at`,`did`);
--> statement-breakpoint
CREATE INDEX `agents_by_principal` ON `agents` (`principal_id`,`created_at`,`did`);
--> statement-breakpoint
DROP TABLE `old_agents`;
--> statement-breakpoint
-- Large texts stand in tables with rowid. A DRAFT has no document.
ALTER TABLE `aids` RENAME TO `old_aids`;
--> statement-breakpoint
CREATE TABLE `aids` (
	`did` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`content` text NOT NULL,
	`proof` text NOT NULL
);
--> statement-breakpoint
INSERT INTO `aids` (`did`, `revision`, `content`, `proof`)
SELECT o.`did`, o.`revision`, o.`content`, o.`proof`
FROM `old_aids` AS o
WHERE o.`proof` IS NOT NULL;
--> statement-breakpoint
DROP TABLE `old_aids`;
--> statement-breakpoint
-- Nor has a DRAFT a signed version.
ALTER TABLE `aid_versions` RENAME TO `old_aid_versions`;
--> statement-breakpoint
CREATE TABLE `aid_versions` (
	`did` text NOT NULL,
	`version` integer NOT NULL,
	`content` text NOT NULL,
	`proof` text NOT NULL,
	PRIMARY KEY(`did`, `version`)
);
--> statement-breakpoint
INSERT INTO `aid_versions` (`did`, `version`, `content`, `proof`)
SELECT o.`did`, o.`version`, o.`content`, o.`proof`
FROM `old_aid_versions` AS o
WHERE json_extract(o.`content`, '$.identity.certificate') IS NOT NULL;
--> statement-breakpoint
DROP TABLE `old_aid_versions`;
--> statement-breakpoint
-- Events are numbered in the order of their commits; what was handed on is not handed on again.
ALTER TABLE `events` RENAME TO `old_events`;
--> statement-breakpoint
DROP INDEX `events_pending`;
--> statement-breakpoint
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`object` text NOT NULL
);
--> statement-breakpoint
INSERT INTO `events` (`seq`, `platform_id`, `environment`, `id`, `type`, `occurred_at`, `object`)
SELECT row_number() OVER (ORDER BY o.`occurred_at`, o.`id`), o.`platform_id`, o.`environment`, o.`id`, o.`type`, o.`occurred_at`, o.`object`
FROM `old_events` AS o;
--> statement-breakpoint
CREATE UNIQUE INDEX `events_by_owner` ON `events` (`platform_id`,`environment`,`id`);
--> statement-breakpoint
INSERT INTO `outbox` (`name`, `seq`)
SELECT 'all', coalesce(min(CASE WHEN o.`dispatched_at` IS NULL THEN e.`seq` END) - 1, max(e.`seq`))
FROM `events` AS e JOIN `old_events` AS o USING (`platform_id`, `environment`, `id`)
HAVING count(*) > 0;
--> statement-breakpoint
DROP TABLE `old_events`;
--> statement-breakpoint
-- Receipts stand apart.
INSERT INTO `receipts` (`transaction_id`, `receipt`)
SELECT `transaction_id`, `receipt` FROM `transactions`;
--> statement-breakpoint
-- A settlement of before shows the wallet that its provider's escrow has now, and keeps the log's number in its block.
ALTER TABLE `transactions` RENAME TO `old_transactions`;
--> statement-breakpoint
DROP INDEX `transactions_by_settlement`;
--> statement-breakpoint
DROP INDEX `transactions_by_intent`;
--> statement-breakpoint
DROP INDEX `transactions_by_provider`;
--> statement-breakpoint
DROP INDEX `transactions_by_consumer`;
--> statement-breakpoint
CREATE TABLE `transactions` (
	`transaction_id` text PRIMARY KEY NOT NULL,
	`environment` text NOT NULL,
	`intent_id` text NOT NULL,
	`task_id` text,
	`consumer_did` text NOT NULL,
	`provider_did` text NOT NULL,
	`consumer_platform_id` text NOT NULL,
	`provider_platform_id` text NOT NULL,
	`network` text NOT NULL,
	`currency` text NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`settlement_id` text NOT NULL,
	`payer` text NOT NULL,
	`operational_wallet` text NOT NULL,
	`gross` integer NOT NULL,
	`fee` integer NOT NULL,
	`escrow` integer NOT NULL,
	`operational` integer NOT NULL,
	`escrow_state` text NOT NULL,
	`escrow_balance` integer NOT NULL,
	`dispute_window_days` integer NOT NULL,
	`dispute_window_closes_at` integer,
	`provider_aid_version` integer NOT NULL,
	`consumer_willed` integer NOT NULL,
	`block_number` integer NOT NULL,
	`block_hash` text NOT NULL,
	`settled_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `transactions` (`transaction_id`, `environment`, `intent_id`, `task_id`, `consumer_did`, `provider_did`, `consumer_platform_id`, `provider_platform_id`, `network`, `currency`, `tx_hash`, `log_index`, `settlement_id`, `payer`, `operational_wallet`, `gross`, `fee`, `escrow`, `operational`, `escrow_state`, `escrow_balance`, `dispute_window_days`, `dispute_window_closes_at`, `provider_aid_version`, `consumer_willed`, `block_number`, `block_hash`, `settled_at`)
SELECT o.`transaction_id`, o.`environment`, o.`intent_id`, o.`task_id`, o.`consumer_did`, o.`provider_did`, o.`consumer_platform_id`, o.`provider_platform_id`, o.`network`, o.`currency`, o.`tx_hash`, o.`log_index`, o.`settlement_id`, o.`payer`, coalesce(e.`operational_wallet`, ''), o.`gross`, o.`fee`, o.`escrow`, o.`operational`, o.`escrow_state`, o.`escrow_balance`, o.`dispute_window_days`, o.`dispute_window_closes_at`, o.`provider_aid_version`, coalesce(i.`opened_by` = o.`consumer_did`, 0), o.`block_number`, o.`block_hash`, o.`settled_at`
FROM `old_transactions` AS o
LEFT JOIN `escrows` AS e ON e.`did` = o.`provider_did` AND e.`environment` = o.`environment` AND e.`network` = o.`network`
LEFT JOIN `payment_intents` AS i ON i.`intent_id` = o.`intent_id`;
--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_settlement` ON `transactions` (`network`,`tx_hash`,`log_index`);
--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_intent` ON `transactions` (`intent_id`);
--> statement-breakpoint
CREATE INDEX `transactions_by_provider` ON `transactions` (`provider_did`,`transaction_id`);
--> statement-breakpoint
CREATE INDEX `transactions_by_consumer` ON `transactions` (`consumer_did`,`transaction_id`);
--> statement-breakpoint
DROP TABLE `old_transactions`;
