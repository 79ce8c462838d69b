CREATE TABLE `management_keys` (
	`key_hash` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`key_prefix` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `management_keys_by_platform` ON `management_keys` (`platform_id`,`environment`);--> statement-breakpoint
CREATE TABLE `platforms` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`legal_name` text NOT NULL,
	`trading_name` text,
	`country` text NOT NULL,
	`email` text NOT NULL,
	`admin_contact_email` text,
	`registration_number` text,
	`registered_address` text,
	`website` text,
	`accreditation_tier` text DEFAULT 'TIER_2' NOT NULL,
	`tenant_principal_id` text NOT NULL,
	`promoted_at` integer,
	`clock_offset_ms` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `platforms_by_status` ON `platforms` (`status`,`platform_id`);--> statement-breakpoint
CREATE TABLE `agent_markets` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`market` text NOT NULL,
	`network` text NOT NULL,
	`operational_wallet` text NOT NULL,
	`escrow_wallet` text,
	`status` text NOT NULL,
	`registration_tx` text,
	`reason` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `market`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `agent_markets_provisioning` ON `agent_markets` (`updated_at`) WHERE status = 'PROVISIONING';--> statement-breakpoint
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
CREATE INDEX `agents_by_platform` ON `agents` (`platform_id`,`environment`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_status` ON `agents` (`platform_id`,`environment`,`status`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_role` ON `agents` (`platform_id`,`environment`,`economic_role`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_principal` ON `agents` (`principal_id`,`created_at`,`did`);--> statement-breakpoint
CREATE TABLE `aid_versions` (
	`did` text NOT NULL,
	`version` integer NOT NULL,
	`content` text NOT NULL,
	`proof` text NOT NULL,
	PRIMARY KEY(`did`, `version`)
);
--> statement-breakpoint
CREATE TABLE `aids` (
	`did` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`content` text NOT NULL,
	`proof` text NOT NULL
);
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
CREATE UNIQUE INDEX `certificates_by_place` ON `certificates` (`list_id`,`idx`);--> statement-breakpoint
CREATE INDEX `certificates_exceptions` ON `certificates` (`list_id`,`expires_at`,`idx`,`listed_status`,`replaced_at`) WHERE listed_status <> 0 or replaced_at is not null;--> statement-breakpoint
CREATE TABLE `rating_counterparties` (
	`did` text NOT NULL,
	`counterparty_principal_id` text NOT NULL,
	`weight` real NOT NULL,
	`weighted` real NOT NULL,
	PRIMARY KEY(`did`, `counterparty_principal_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `rating_counterparties_heaviest` ON `rating_counterparties` (`did`,`weight`);--> statement-breakpoint
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
CREATE INDEX `chain_operations_checks` ON `chain_operations` (`next_check_at`) WHERE next_check_at is not null;--> statement-breakpoint
CREATE TABLE `activity_entries` (
	`platform_id` text NOT NULL,
	`id` text NOT NULL,
	`environment` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`action` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`subject_type` text NOT NULL,
	`subject_id` text NOT NULL,
	`changes` text,
	PRIMARY KEY(`platform_id`, `id`)
) WITHOUT ROWID;
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
CREATE UNIQUE INDEX `alerts_open` ON `alerts` (`kind`,`subject`) WHERE acknowledged_at is null;--> statement-breakpoint
CREATE INDEX `alerts_by_time` ON `alerts` (`raised_at`,`alert_id`);--> statement-breakpoint
CREATE INDEX `alerts_unmailed` ON `alerts` (`kind`,`raised_at`) WHERE mailed_at is null and acknowledged_at is null;--> statement-breakpoint
CREATE TABLE `directory_changes` (
	`environment` text NOT NULL,
	`seq` integer NOT NULL,
	`did` text NOT NULL,
	`change_type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	PRIMARY KEY(`environment`, `seq`)
) WITHOUT ROWID;
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
CREATE UNIQUE INDEX `events_by_owner` ON `events` (`platform_id`,`environment`,`id`);--> statement-breakpoint
CREATE TABLE `idempotency_outcomes` (
	`platform_id` text NOT NULL,
	`request_key` text NOT NULL,
	`body_hash` text NOT NULL,
	`status` integer NOT NULL,
	`body` text NOT NULL,
	`sealed` integer NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`platform_id`, `request_key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_outcomes_due` ON `idempotency_outcomes` (`expires_at`);--> statement-breakpoint
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
CREATE TABLE `escrows` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`network` text NOT NULL,
	`currency` text NOT NULL,
	`vault` text NOT NULL,
	`operational_wallet` text NOT NULL,
	`balance` integer DEFAULT 0 NOT NULL,
	`base_threshold` integer NOT NULL,
	`threshold` integer NOT NULL,
	`chain_threshold` integer NOT NULL,
	`state` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`did`,`environment`,`network`) WHERE threshold <> chain_threshold;--> statement-breakpoint
CREATE TABLE `payment_intents` (
	`intent_id` text PRIMARY KEY NOT NULL,
	`environment` text NOT NULL,
	`consumer_did` text NOT NULL,
	`provider_did` text NOT NULL,
	`consumer_platform_id` text NOT NULL,
	`provider_platform_id` text NOT NULL,
	`opened_by` text NOT NULL,
	`network` text NOT NULL,
	`market` text NOT NULL,
	`currency` text NOT NULL,
	`amount` integer NOT NULL,
	`status` text NOT NULL,
	`spenders` text NOT NULL,
	`abandon_rated` integer DEFAULT false NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `payment_intents_unrated` ON `payment_intents` (`expires_at`) WHERE status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did;--> statement-breakpoint
CREATE INDEX `payment_intents_open_pair` ON `payment_intents` (`consumer_did`,`provider_did`,`network`,`amount`,`created_at`) WHERE status in ('OPEN', 'ABANDONED');--> statement-breakpoint
CREATE INDEX `payment_intents_by_provider` ON `payment_intents` (`provider_did`,`consumer_did`,`expires_at`) WHERE status = 'OPEN' and opened_by = provider_did;--> statement-breakpoint
CREATE INDEX `payment_intents_due` ON `payment_intents` (`expires_at`) WHERE status = 'OPEN';--> statement-breakpoint
CREATE TABLE `receipts` (
	`transaction_id` text PRIMARY KEY NOT NULL,
	`receipt` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `spend_holds` (
	`did` text NOT NULL,
	`expires_at` integer NOT NULL,
	`intent_id` text NOT NULL,
	`amount` integer NOT NULL,
	PRIMARY KEY(`did`, `expires_at`, `intent_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spend_ledger` (
	`did` text NOT NULL,
	`at` integer NOT NULL,
	`total` integer NOT NULL,
	PRIMARY KEY(`did`, `at`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spend_sums` (
	`did` text PRIMARY KEY NOT NULL,
	`settled` integer NOT NULL,
	`open` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tasks` (
	`task_id` text PRIMARY KEY NOT NULL,
	`transaction_id` text NOT NULL,
	`environment` text NOT NULL,
	`consumer_did` text NOT NULL,
	`provider_did` text NOT NULL,
	`status` text NOT NULL,
	`outcome` text,
	`score` real,
	`note` text,
	`opened_at` integer NOT NULL,
	`confirm_by` integer NOT NULL,
	`closed_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `tasks_due` ON `tasks` (`confirm_by`) WHERE status = 'open';--> statement-breakpoint
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
CREATE UNIQUE INDEX `transactions_by_settlement` ON `transactions` (`network`,`tx_hash`,`log_index`);--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_intent` ON `transactions` (`intent_id`);--> statement-breakpoint
CREATE INDEX `transactions_by_provider` ON `transactions` (`provider_did`,`transaction_id`);--> statement-breakpoint
CREATE INDEX `transactions_by_consumer` ON `transactions` (`consumer_did`,`transaction_id`);--> statement-breakpoint
CREATE TABLE `attestations` (
	`attestation_id` text NOT NULL,
	`principal_id` text NOT NULL,
	`verifier_id` text NOT NULL,
	`model` text NOT NULL,
	`tier` text,
	`proof` text,
	`issued_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`recorded_at` integer NOT NULL,
	PRIMARY KEY(`principal_id`, `attestation_id`)
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
CREATE INDEX `cascades_by_start` ON `cascades` (`started_at`,`principal_id`);--> statement-breakpoint
CREATE TABLE `customers` (
	`customer_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`name` text NOT NULL,
	`external_ref` text,
	`status` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `customers_by_platform` ON `customers` (`platform_id`,`environment`,`customer_id`);--> statement-breakpoint
CREATE TABLE `principals` (
	`principal_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`tenant` integer DEFAULT false NOT NULL,
	`legal_name` text NOT NULL,
	`name_folded` text NOT NULL,
	`country` text NOT NULL,
	`entity_type` text NOT NULL,
	`external_ref` text NOT NULL,
	`customer_id` text,
	`status` text NOT NULL,
	`status_reason` text,
	`attestation_id` text NOT NULL,
	`attestation_verifier_id` text NOT NULL,
	`attestation_model` text NOT NULL,
	`attestation_tier` text,
	`attestation_issued_at` integer NOT NULL,
	`attestation_expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_external_ref` ON `principals` (`platform_id`,`environment`,`external_ref`);--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_name` ON `principals` (`platform_id`,`environment`,`name_folded`,`country`);--> statement-breakpoint
CREATE INDEX `principals_by_platform` ON `principals` (`platform_id`,`environment`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
CREATE INDEX `principals_by_status` ON `principals` (`platform_id`,`environment`,`status`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
CREATE INDEX `principals_by_customer` ON `principals` (`platform_id`,`environment`,`customer_id`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
CREATE INDEX `principals_due` ON `principals` (`attestation_expires_at`) WHERE status = 'ACTIVE';
--> statement-breakpoint
INSERT INTO `status_lists` (`list_id`, `size`, `created_at`) VALUES (1, 65536, 0);
