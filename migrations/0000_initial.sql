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
	`delegated_by` text,
	`status` text NOT NULL,
	`suspension_reason` text,
	`suspended_from` text,
	`status_note` text,
	`version` integer NOT NULL,
	`revision` integer NOT NULL,
	`certificate_jti` text,
	`certificate` text,
	`certificate_expires_at` integer,
	`key_id` text,
	`public_jwk` text,
	`rating_weight` real DEFAULT 0 NOT NULL,
	`rating_weighted` real DEFAULT 0 NOT NULL,
	`rating_interactions` integer DEFAULT 0 NOT NULL,
	`rating_counterparties` integer DEFAULT 0 NOT NULL,
	`agent_rating` real,
	`settled_volume` integer DEFAULT 0 NOT NULL,
	`spend_settled` integer DEFAULT 0 NOT NULL,
	`spend_open` integer DEFAULT 0 NOT NULL,
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
CREATE INDEX `agents_not_active` ON `agents` (`status`) WHERE status not in ('DRAFT', 'ACTIVE');--> statement-breakpoint
CREATE TABLE `aid_versions` (
	`did` text NOT NULL,
	`version` integer NOT NULL,
	`content` text NOT NULL,
	`proof` text NOT NULL,
	`issued_at` integer NOT NULL,
	PRIMARY KEY(`did`, `version`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `aids` (
	`did` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`revision` integer NOT NULL,
	`content` text NOT NULL,
	`proof` text,
	`stale` integer DEFAULT false NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
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
CREATE TABLE `certificates` (
	`did` text NOT NULL,
	`jti` text NOT NULL,
	`key_id` text NOT NULL,
	`status_list_idx` integer NOT NULL,
	`issued_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`replaced_at` integer,
	PRIMARY KEY(`did`, `jti`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `certificates_by_status` ON `certificates` (`status_list_idx`);--> statement-breakpoint
CREATE INDEX `certificates_replaced` ON `certificates` (`replaced_at`) WHERE replaced_at is not null;--> statement-breakpoint
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
CREATE TABLE `directory_changes` (
	`environment` text NOT NULL,
	`seq` integer NOT NULL,
	`did` text NOT NULL,
	`change_type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	PRIMARY KEY(`environment`, `seq`)
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
CREATE INDEX `escrows_behind` ON `escrows` (`did`) WHERE threshold <> chain_threshold;--> statement-breakpoint
CREATE TABLE `events` (
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`object` text NOT NULL,
	`dispatched_at` integer,
	PRIMARY KEY(`platform_id`, `environment`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `events_pending` ON `events` (`occurred_at`) WHERE dispatched_at is null;--> statement-breakpoint
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
CREATE INDEX `payment_intents_due` ON `payment_intents` (`expires_at`) WHERE status = 'OPEN';--> statement-breakpoint
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
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
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
CREATE INDEX `principals_due` ON `principals` (`attestation_expires_at`) WHERE status = 'ACTIVE';--> statement-breakpoint
CREATE INDEX `principals_not_active` ON `principals` (`status`) WHERE status <> 'ACTIVE';--> statement-breakpoint
CREATE TABLE `rating_counterparties` (
	`did` text NOT NULL,
	`counterparty_principal_id` text NOT NULL,
	`weight` real NOT NULL,
	`weighted` real NOT NULL,
	PRIMARY KEY(`did`, `counterparty_principal_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `rating_counterparties_heaviest` ON `rating_counterparties` (`did`,`weight`);--> statement-breakpoint
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
	`gross` integer NOT NULL,
	`fee` integer NOT NULL,
	`escrow` integer NOT NULL,
	`operational` integer NOT NULL,
	`escrow_state` text NOT NULL,
	`escrow_balance` integer NOT NULL,
	`dispute_window_days` integer NOT NULL,
	`dispute_window_closes_at` integer,
	`provider_aid_version` integer NOT NULL,
	`block_number` integer NOT NULL,
	`block_hash` text NOT NULL,
	`receipt` text NOT NULL,
	`settled_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_settlement` ON `transactions` (`network`,`tx_hash`,`log_index`);--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_intent` ON `transactions` (`intent_id`);--> statement-breakpoint
CREATE INDEX `transactions_by_provider` ON `transactions` (`provider_did`,`transaction_id`);--> statement-breakpoint
CREATE INDEX `transactions_by_consumer` ON `transactions` (`consumer_did`,`transaction_id`);