CREATE TABLE `account_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`kind` text NOT NULL,
	`email` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `account_links_by_platform` ON `account_links` (`platform_id`,`kind`,`created_at`);--> statement-breakpoint
CREATE INDEX `account_links_due` ON `account_links` (`expires_at`);--> statement-breakpoint
CREATE TABLE `announcements` (
	`announcement_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`text` text NOT NULL,
	`created_at` integer NOT NULL,
	`reached` text DEFAULT '' NOT NULL,
	`finished_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `announcements_open` ON `announcements` (`created_at`,`announcement_id`) WHERE finished_at is null;--> statement-breakpoint
CREATE TABLE `documents` (
	`document_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`type` text NOT NULL,
	`status` text NOT NULL,
	`file_name` text NOT NULL,
	`media_type` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `documents_by_platform` ON `documents` (`platform_id`,`document_id`);--> statement-breakpoint
CREATE TABLE `mail_counts` (
	`subject_hash` text NOT NULL,
	`mails` integer NOT NULL,
	`ends_at` integer NOT NULL,
	PRIMARY KEY(`ends_at`, `subject_hash`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `management_keys` (
	`key_hash` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`key_prefix` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `management_keys_by_platform` ON `management_keys` (`platform_id`,`expires_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `management_keys_current` ON `management_keys` (`platform_id`,`environment`) WHERE expires_at is null;--> statement-breakpoint
CREATE INDEX `management_keys_ended` ON `management_keys` (`expires_at`) WHERE expires_at is not null;--> statement-breakpoint
CREATE TABLE `notices` (
	`notice_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`kind` text NOT NULL,
	`recipient` text NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL,
	`due_at` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`is_bounded` integer DEFAULT false NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `notices_due` ON `notices` (`due_at`,`notice_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `notices_gathering` ON `notices` (`platform_id`,`recipient`) WHERE kind = 'customer.digest' and attempts = 0;--> statement-breakpoint
CREATE TABLE `passwords` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`changed_at` integer NOT NULL,
	`totp_secret` text,
	`totp_seal_key` text,
	`totp_confirmed_at` integer,
	`totp_step` integer DEFAULT 0 NOT NULL,
	`recovery_codes` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `passwords_by_seal_key` ON `passwords` (`totp_seal_key`,`platform_id`) WHERE totp_seal_key is not null;--> statement-breakpoint
CREATE TABLE `platforms` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`legal_name` text,
	`trading_name` text,
	`country` text,
	`email` text NOT NULL,
	`email_folded` text NOT NULL,
	`admin_contact_email` text,
	`pending_contact_email` text,
	`registration_number` text,
	`registered_address` text,
	`website` text,
	`accreditation_tier` text DEFAULT 'TIER_2' NOT NULL,
	`tenant_principal_id` text,
	`documents` text DEFAULT '{}' NOT NULL,
	`submitted_at` integer,
	`reviewed` text,
	`pending_profile` text,
	`decision` text,
	`decision_reason` text,
	`decided_at` integer,
	`promoted_at` integer,
	`promotion_by` text DEFAULT 'key' NOT NULL,
	`suspension_reason` text,
	`suspended_from` text,
	`closed_at` integer,
	`erased_at` integer,
	`clock_offset_ms` integer DEFAULT 0 NOT NULL,
	`clock_moved_at` integer,
	`clock_recorded_to` integer,
	`ratings_dated` integer DEFAULT false NOT NULL,
	`volume_marks` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `platforms_by_status` ON `platforms` (`status`,`platform_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `platforms_by_email` ON `platforms` (`email_folded`) WHERE closed_at is null;--> statement-breakpoint
CREATE INDEX `platforms_unverified` ON `platforms` (`created_at`) WHERE status = 'EMAIL_PENDING';--> statement-breakpoint
CREATE INDEX `platforms_moved` ON `platforms` (`platform_id`) WHERE clock_offset_ms > 0;--> statement-breakpoint
CREATE INDEX `platforms_to_erase` ON `platforms` (`closed_at`) WHERE status = 'CLOSED' and erased_at is null;--> statement-breakpoint
CREATE TABLE `seen_devices` (
	`platform_id` text NOT NULL,
	`network` text NOT NULL,
	`device` text NOT NULL,
	`seen_at` integer NOT NULL,
	PRIMARY KEY(`platform_id`, `network`, `device`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `seen_devices_due` ON `seen_devices` (`seen_at`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`session_id` text DEFAULT '' NOT NULL,
	`platform_id` text NOT NULL,
	`device` text DEFAULT '' NOT NULL,
	`network` text DEFAULT '' NOT NULL,
	`created_at` integer NOT NULL,
	`confirmed_at` integer DEFAULT 0 NOT NULL,
	`used_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sessions_by_platform` ON `sessions` (`platform_id`,`session_id`);--> statement-breakpoint
CREATE INDEX `sessions_due` ON `sessions` (`expires_at`);--> statement-breakpoint
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
	`pending_wallet` text,
	`pending_until` integer,
	`pending_nonce` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`sole` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`did`, `environment`, `market`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `agent_markets_pending` ON `agent_markets` (`pending_until`) WHERE pending_until is not null;--> statement-breakpoint
CREATE INDEX `agent_markets_provisioning` ON `agent_markets` (`updated_at`) WHERE status = 'PROVISIONING';--> statement-breakpoint
CREATE TABLE `agents` (
	`did` text PRIMARY KEY NOT NULL,
	`did_hash` text DEFAULT '' NOT NULL,
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
	`external_ref` text,
	`metadata` text DEFAULT '{}' NOT NULL,
	`version` integer NOT NULL,
	`revision` integer NOT NULL,
	`certificate_jti` text,
	`certificate_expires_at` integer,
	`recertified` integer DEFAULT false NOT NULL,
	`key_id` text,
	`public_jwk` text,
	`earlier_key` text,
	`rating_weight` real DEFAULT 0 NOT NULL,
	`rating_weighted` real DEFAULT 0 NOT NULL,
	`rating_interactions` integer DEFAULT 0 NOT NULL,
	`rating_counterparties` integer DEFAULT 0 NOT NULL,
	`agent_rating` real,
	`rating_heaviest` text DEFAULT '[]' NOT NULL,
	`republish_at` integer,
	`republish_by` text DEFAULT '' NOT NULL,
	`settled_volumes` text DEFAULT '{}' NOT NULL,
	`escrow_states` text DEFAULT '{}' NOT NULL,
	`disputes_open` integer DEFAULT 0 NOT NULL,
	`disputes_resolved_for` integer DEFAULT 0 NOT NULL,
	`disputes_resolved_against` integer DEFAULT 0 NOT NULL,
	`wallet_asks` text,
	`wallets` text DEFAULT '[]' NOT NULL,
	`promoted_at` integer,
	`ends_at` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `agents_by_platform` ON `agents` (`platform_id`,`environment`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_status` ON `agents` (`platform_id`,`environment`,`status`,`ends_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_role` ON `agents` (`platform_id`,`environment`,`economic_role`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_principal` ON `agents` (`principal_id`,`created_at`,`did`);--> statement-breakpoint
CREATE UNIQUE INDEX `agents_by_external_ref` ON `agents` (`platform_id`,`environment`,`external_ref`) WHERE external_ref is not null;--> statement-breakpoint
CREATE INDEX `agents_by_did_hash` ON `agents` (`did_hash`) WHERE did_hash <> '';--> statement-breakpoint
CREATE INDEX `agents_by_delegator` ON `agents` (delegators ->> 0) WHERE delegators <> '[]';--> statement-breakpoint
CREATE INDEX `agents_disputed` ON `agents` (`platform_id`,`environment`,`principal_id`) WHERE disputes_open > 0;--> statement-breakpoint
CREATE INDEX `agents_to_republish` ON `agents` (`republish_by`,`republish_at`,`did`) WHERE republish_at is not null;--> statement-breakpoint
CREATE INDEX `agents_stopped_by_operator` ON `agents` (`platform_id`,`created_at`,`did`) WHERE suspension_reason = 'operator';--> statement-breakpoint
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
CREATE TABLE `authority_keys` (
	`kid` text PRIMARY KEY NOT NULL,
	`published_at` integer NOT NULL,
	`signs_from` integer,
	`signed_until` integer
) WITHOUT ROWID;
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
CREATE TABLE `mainnet_trials` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`asks` text NOT NULL,
	`total` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `rating_counterparties` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`counterparty_principal_id` text NOT NULL,
	`weight` real NOT NULL,
	`weighted` real NOT NULL,
	PRIMARY KEY(`did`, `environment`, `counterparty_principal_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `rating_counterparties_heaviest` ON `rating_counterparties` (`did`,`environment`,`weight`);--> statement-breakpoint
CREATE TABLE `status_lists` (
	`list_id` integer PRIMARY KEY NOT NULL,
	`size` integer NOT NULL,
	`counted_at` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`signed_at` integer,
	`signed` text
);
--> statement-breakpoint
CREATE TABLE `booked_blocks` (
	`network` text NOT NULL,
	`number` integer NOT NULL,
	`hash` text NOT NULL,
	`vaults` text DEFAULT '[]' NOT NULL,
	PRIMARY KEY(`network`, `number`)
) WITHOUT ROWID;
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
	`asks` text,
	PRIMARY KEY(`network`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `chain_operations_checks` ON `chain_operations` (`kind`,`next_check_at`) WHERE next_check_at is not null;--> statement-breakpoint
CREATE TABLE `edition_moves` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`network` text NOT NULL,
	`planned_at` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `followers` (
	`network` text PRIMARY KEY NOT NULL,
	`booked_block` integer NOT NULL,
	`booked_hash` text NOT NULL,
	`booked_at` integer DEFAULT 0 NOT NULL,
	`head_block` integer NOT NULL,
	`read_through` integer NOT NULL,
	`read_at` integer NOT NULL,
	`checked_did` text DEFAULT '' NOT NULL,
	`paused` integer DEFAULT false NOT NULL,
	`checked_receipt` integer DEFAULT 0 NOT NULL,
	`seen` text,
	`reread_for` text,
	`bound` text DEFAULT '[]' NOT NULL,
	`turned` text DEFAULT '[]' NOT NULL,
	`began_block` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `key_acts` (
	`network` text NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`block_number` integer NOT NULL,
	`mined_at` integer NOT NULL,
	`authority` text NOT NULL,
	`operation_id` text,
	`nonce` integer,
	`caller` text,
	`target` text,
	`data` text,
	`ready_at` integer,
	`asked` integer NOT NULL,
	`ended_block` integer,
	PRIMARY KEY(`network`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `key_acts_waiting` ON `key_acts` (`network`,`asked`,`ready_at`,`tx_hash`,`log_index`) WHERE operation_id is not null and ended_block is null;--> statement-breakpoint
CREATE TABLE `ledger_differences` (
	`network` text NOT NULL,
	`did` text NOT NULL,
	`contract` text NOT NULL,
	`held` integer NOT NULL,
	`expected` integer NOT NULL,
	`block_number` integer NOT NULL,
	`found_at` integer NOT NULL,
	PRIMARY KEY(`network`, `did`, `contract`, `held`, `expected`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `ledger_differences_newest` ON `ledger_differences` (`found_at`,`network`,`did`,`contract`,`held`,`expected`);--> statement-breakpoint
CREATE INDEX `ledger_differences_by_did` ON `ledger_differences` (`did`,`found_at`,`network`,`contract`,`held`,`expected`);--> statement-breakpoint
CREATE TABLE `network_standings` (
	`network` text PRIMARY KEY NOT NULL,
	`sent_at` integer DEFAULT 0 NOT NULL,
	`behind_since` integer,
	`low_gas_until` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `registered_editions` (
	`network` text PRIMARY KEY NOT NULL,
	`contract` text NOT NULL,
	`planned_at` integer NOT NULL,
	`plans` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_changes` (
	`environment` text NOT NULL,
	`seq` integer NOT NULL,
	`did` text NOT NULL,
	`change_type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	PRIMARY KEY(`environment`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_entries` (
	`did` text PRIMARY KEY NOT NULL,
	`environment` text NOT NULL,
	`principal_id` text NOT NULL,
	`status` text NOT NULL,
	`listed_as` text NOT NULL,
	`economic_role` text NOT NULL,
	`cert_tier` text NOT NULL,
	`catalog_url` text,
	`capabilities` text NOT NULL,
	`markets` text NOT NULL,
	`agent_rating` real,
	`updated_at` integer NOT NULL,
	`unindexed` integer NOT NULL,
	`terms` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `directory_entries_listed` ON `directory_entries` (`environment`,`listed_as`,`updated_at`,`did`);--> statement-breakpoint
CREATE INDEX `directory_entries_unindexed` ON `directory_entries` (`environment`,`did`) WHERE unindexed = 1;--> statement-breakpoint
CREATE TABLE `directory_feeds` (
	`environment` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`head_seq` integer NOT NULL,
	`pruned_to` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_hashes` (
	`environment` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`environment`, `occurred_at`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_heads` (
	`environment` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`signed_at` integer NOT NULL,
	`jws` text NOT NULL,
	PRIMARY KEY(`environment`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_term_counts` (
	`term` text PRIMARY KEY NOT NULL,
	`entries` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_terms` (
	`term` text NOT NULL,
	`did` text NOT NULL,
	PRIMARY KEY(`term`, `did`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`consumer_evidence` integer DEFAULT 0 NOT NULL,
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
	`refunded_before` integer DEFAULT 0 NOT NULL,
	`parts_remade` integer DEFAULT 0 NOT NULL,
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
CREATE TABLE `refund_addresses` (
	`network` text NOT NULL,
	`block_number` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`contract` text NOT NULL,
	`settlement_key` text NOT NULL,
	`refund_to` text NOT NULL,
	PRIMARY KEY(`network`, `block_number`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `refund_addresses_by_settlement` ON `refund_addresses` (`network`,`settlement_key`,`contract`,`block_number`);--> statement-breakpoint
CREATE TABLE `refunds` (
	`network` text NOT NULL,
	`block_number` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`contract` text DEFAULT '' NOT NULL,
	`settlement_key` text NOT NULL,
	`payer` text NOT NULL,
	`amount` integer NOT NULL,
	`mined_at` integer NOT NULL,
	PRIMARY KEY(`network`, `block_number`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `refunds_by_settlement` ON `refunds` (`network`,`settlement_key`,`contract`,`mined_at`,`block_number`,`amount`);--> statement-breakpoint
CREATE TABLE `account_volumes` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`day` integer NOT NULL,
	`sandbox_events` integer NOT NULL,
	`sandbox_deliveries` integer NOT NULL,
	`sandbox_bytes` integer NOT NULL,
	`production_events` integer NOT NULL,
	`production_deliveries` integer NOT NULL,
	`production_bytes` integer NOT NULL,
	`mails` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `activity_chains` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`head_seq` integer NOT NULL,
	`check_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_chains_due` ON `activity_chains` (`check_at`,`platform_id`);--> statement-breakpoint
CREATE TABLE `activity_entries` (
	`platform_id` text NOT NULL,
	`seq` integer NOT NULL,
	`environment` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`action` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`subject_type` text NOT NULL,
	`subject_id` text NOT NULL,
	`changes` text,
	`hash` text,
	PRIMARY KEY(`platform_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_entries_by_subject` ON `activity_entries` (`platform_id`,`subject_id`,`seq`);--> statement-breakpoint
CREATE INDEX `activity_entries_by_actor` ON `activity_entries` (`platform_id`,`actor_id`,`seq`);--> statement-breakpoint
CREATE INDEX `activity_entries_by_action` ON `activity_entries` (`platform_id`,`action`,`seq`);--> statement-breakpoint
CREATE TABLE `activity_heads` (
	`platform_id` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`signed_at` integer NOT NULL,
	`jws` text NOT NULL,
	PRIMARY KEY(`platform_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_heads_by_time` ON `activity_heads` (`platform_id`,`signed_at`,`seq`);--> statement-breakpoint
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
CREATE INDEX `alerts_standing` ON `alerts` (`raised_at`,`alert_id`) WHERE acknowledged_at is null;--> statement-breakpoint
CREATE INDEX `alerts_unmailed` ON `alerts` (`kind`,`raised_at`) WHERE mailed_at is null and acknowledged_at is null;--> statement-breakpoint
CREATE TABLE `event_marks` (
	`at` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`object` text NOT NULL,
	`previous` text,
	`agent_did` text,
	`other_did` text,
	`subject` text,
	`listed` integer
);
--> statement-breakpoint
CREATE INDEX `events_by_tenant` ON `events` (`platform_id`,`environment`) WHERE listed = 1;--> statement-breakpoint
CREATE INDEX `events_by_id` ON `events` (`platform_id`,`environment`,`id`) WHERE listed = 1;--> statement-breakpoint
CREATE INDEX `events_by_agent` ON `events` (`agent_did`,`environment`) WHERE listed = 1 and agent_did is not null;--> statement-breakpoint
CREATE INDEX `events_by_other` ON `events` (`other_did`,`environment`) WHERE listed = 1 and other_did is not null;--> statement-breakpoint
CREATE INDEX `events_by_subject` ON `events` (`subject`,`environment`) WHERE listed = 1 and subject is not null;--> statement-breakpoint
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
CREATE TABLE `last_numbers` (
	`name` text PRIMARY KEY NOT NULL,
	`activity` integer NOT NULL,
	`sandbox` integer NOT NULL,
	`production` integer NOT NULL,
	`sandbox_at` integer DEFAULT 0 NOT NULL,
	`production_at` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `operator_entries` (
	`seq` integer PRIMARY KEY NOT NULL,
	`occurred_at` integer NOT NULL,
	`operator_id` text NOT NULL,
	`action` text NOT NULL,
	`subject_type` text NOT NULL,
	`subject_id` text NOT NULL,
	`platform_id` text,
	`detail` text
);
--> statement-breakpoint
CREATE INDEX `operator_entries_by_platform` ON `operator_entries` (`platform_id`,`seq`) WHERE platform_id is not null;--> statement-breakpoint
CREATE INDEX `operator_entries_by_operator` ON `operator_entries` (`operator_id`,`seq`);--> statement-breakpoint
CREATE INDEX `operator_entries_by_action` ON `operator_entries` (`action`,`seq`);--> statement-breakpoint
CREATE TABLE `outbox` (
	`name` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `escrows` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`network` text NOT NULL,
	`platform_id` text NOT NULL,
	`currency` text NOT NULL,
	`vault` text NOT NULL,
	`contract` text DEFAULT '' NOT NULL,
	`operational_wallet` text NOT NULL,
	`former_wallets` text DEFAULT '[]' NOT NULL,
	`balance` integer DEFAULT 0 NOT NULL,
	`contributed` integer DEFAULT 0 NOT NULL,
	`base_threshold` integer NOT NULL,
	`threshold` integer NOT NULL,
	`other_threshold` integer DEFAULT 0 NOT NULL,
	`chain_threshold` integer NOT NULL,
	`behind_since` integer DEFAULT 0 NOT NULL,
	`state` text NOT NULL,
	`disputed` integer DEFAULT 0 NOT NULL,
	`owed` integer DEFAULT 0 NOT NULL,
	`windows_close_at` integer DEFAULT 0 NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`behind_since`,`did`,`environment`,`network`) WHERE abs(max(threshold, other_threshold) - chain_threshold) * 20 - base_threshold >= 0 and base_threshold > 0;--> statement-breakpoint
CREATE INDEX `escrows_holding` ON `escrows` (`platform_id`) WHERE environment = 'production' and balance > 0;--> statement-breakpoint
CREATE TABLE `ledger_lines` (
	`network` text NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`did` text NOT NULL,
	`contract` text NOT NULL,
	`kind` text NOT NULL,
	`amount` integer NOT NULL,
	`held` integer NOT NULL,
	`deposited` integer NOT NULL,
	`block_number` integer NOT NULL,
	`block_hash` text NOT NULL,
	`mined_at` integer NOT NULL,
	`number` integer NOT NULL,
	`reversed` integer DEFAULT false NOT NULL,
	`settlement_key` text,
	`parts` text,
	PRIMARY KEY(`network`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `ledger_lines_paid_out` ON `ledger_lines` (`settlement_key`,`network`,`contract`) WHERE kind = 'payout';--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_lines_by_vault` ON `ledger_lines` (`did`,`network`,`contract`,`number`) WHERE reversed = 0;--> statement-breakpoint
CREATE TABLE `named_wallets` (
	`did` text NOT NULL,
	`network` text NOT NULL,
	`wallet` text NOT NULL,
	`since` integer NOT NULL,
	PRIMARY KEY(`did`, `network`, `wallet`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `payment_intents` (
	`intent_id` text PRIMARY KEY NOT NULL,
	`intent_hash` text DEFAULT '' NOT NULL,
	`environment` text NOT NULL,
	`consumer_did` text NOT NULL,
	`provider_did` text NOT NULL,
	`consumer_platform_id` text NOT NULL,
	`provider_platform_id` text NOT NULL,
	`consumer_principal_id` text DEFAULT '' NOT NULL,
	`provider_principal_id` text DEFAULT '' NOT NULL,
	`opened_by` text NOT NULL,
	`network` text NOT NULL,
	`market` text NOT NULL,
	`currency` text NOT NULL,
	`amount` integer NOT NULL,
	`operational_wallet` text DEFAULT '' NOT NULL,
	`payer` text,
	`status` text NOT NULL,
	`spenders` text NOT NULL,
	`terms` text DEFAULT '' NOT NULL,
	`payment_tx` text,
	`payment_log` integer,
	`payment_block` integer,
	`paid_at` integer,
	`lost_tx` text,
	`lost_log` integer,
	`lost_until` integer,
	`sent_by` text,
	`sent_nonce` integer,
	`spent_at` integer,
	`abandon_rated` integer DEFAULT false NOT NULL,
	`transaction_id` text,
	`task_id` text,
	`cancelled_at` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `payment_intents_unrated` ON `payment_intents` (`expires_at`) WHERE status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did;--> statement-breakpoint
CREATE INDEX `payment_intents_by_terms` ON `payment_intents` (`terms`,`created_at`) WHERE transaction_id is null;--> statement-breakpoint
CREATE INDEX `payment_intents_by_provider` ON `payment_intents` (`provider_did`,`consumer_did`,`opened_by`,`expires_at`) WHERE status in ('OPEN', 'PAID') and spent_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `payment_intents_by_hash` ON `payment_intents` (`intent_hash`);--> statement-breakpoint
CREATE INDEX `payment_intents_due` ON `payment_intents` (`expires_at`) WHERE status = 'OPEN';--> statement-breakpoint
CREATE INDEX `payment_intents_paid` ON `payment_intents` (`network`,`paid_at`) WHERE status = 'PAID' and spent_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `payment_intents_by_payment` ON `payment_intents` (`payment_tx`,`payment_log`,`network`) WHERE payment_tx is not null;--> statement-breakpoint
CREATE INDEX `payment_intents_lost` ON `payment_intents` (`lost_tx`) WHERE lost_tx is not null;--> statement-breakpoint
CREATE INDEX `payment_intents_waiting` ON `payment_intents` (`network`) WHERE lost_until is not null and status = 'OPEN';--> statement-breakpoint
CREATE INDEX `payment_intents_sold` ON `payment_intents` (`provider_did`,`environment`,`created_at`,`intent_id`);--> statement-breakpoint
CREATE INDEX `payment_intents_bought` ON `payment_intents` (`consumer_did`,`environment`,`created_at`,`intent_id`);--> statement-breakpoint
CREATE TABLE `receipts` (
	`network` text NOT NULL,
	`block_number` integer NOT NULL,
	`transaction_id` text NOT NULL,
	`receipt` text NOT NULL,
	PRIMARY KEY(`network`, `block_number`, `transaction_id`)
);
--> statement-breakpoint
CREATE TABLE `tasks` (
	`task_id` text PRIMARY KEY NOT NULL,
	`transaction_id` text NOT NULL,
	`environment` text NOT NULL,
	`consumer_did` text NOT NULL,
	`provider_did` text NOT NULL,
	`ruled_by` text,
	`intent_id` text DEFAULT '' NOT NULL,
	`network` text DEFAULT '' NOT NULL,
	`currency` text DEFAULT '' NOT NULL,
	`gross` integer DEFAULT 0 NOT NULL,
	`status` text NOT NULL,
	`answer` text,
	`outcome` text,
	`score` real,
	`note` text,
	`opened_at` integer NOT NULL,
	`confirm_by` integer NOT NULL,
	`closed_at` integer,
	`provider_principal_id` text DEFAULT '' NOT NULL,
	`consumer_principal_id` text DEFAULT '' NOT NULL,
	`provider_rated_by` text,
	`consumer_rated_by` text,
	`provider_rated_at` integer,
	`held_ms` integer DEFAULT 0 NOT NULL,
	`verdict` text,
	`verdict_score` real
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `tasks_due` ON `tasks` (`confirm_by`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `tasks_held_sold` ON `tasks` (`provider_did`,`environment`,`confirm_by`,`task_id`) WHERE status = 'disputed';--> statement-breakpoint
CREATE INDEX `tasks_held_bought` ON `tasks` (`consumer_did`,`environment`,`confirm_by`,`task_id`) WHERE status = 'disputed';--> statement-breakpoint
CREATE INDEX `tasks_by_provider` ON `tasks` (`provider_did`,`environment`,`answer`,`confirm_by`,`task_id`);--> statement-breakpoint
CREATE INDEX `tasks_by_consumer` ON `tasks` (`consumer_did`,`environment`,`answer`,`confirm_by`,`task_id`);--> statement-breakpoint
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
	`contract` text DEFAULT '' NOT NULL,
	`settlement_key` text DEFAULT '' NOT NULL,
	`refund_to` text DEFAULT '' NOT NULL,
	`payer` text NOT NULL,
	`operational_wallet` text NOT NULL,
	`gross` integer NOT NULL,
	`fee` integer NOT NULL,
	`escrow` integer NOT NULL,
	`uncounted` integer DEFAULT 0 NOT NULL,
	`operational` integer NOT NULL,
	`escrow_state` text NOT NULL,
	`escrow_balance` integer NOT NULL,
	`escrow_as_of_block` integer DEFAULT 0 NOT NULL,
	`dispute_window_days` integer NOT NULL,
	`dispute_window_closes_at` integer,
	`provider_aid_version` integer NOT NULL,
	`consumer_willed` integer NOT NULL,
	`block_number` integer NOT NULL,
	`block_hash` text NOT NULL,
	`settled_at` integer NOT NULL,
	`reversed_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_settlement` ON `transactions` (`network`,`tx_hash`,`log_index`) WHERE reversed_at is null;--> statement-breakpoint
CREATE INDEX `transactions_by_provider` ON `transactions` (`provider_did`,`environment`,`settled_at`,`transaction_id`);--> statement-breakpoint
CREATE INDEX `transactions_by_consumer` ON `transactions` (`consumer_did`,`environment`,`settled_at`,`transaction_id`);--> statement-breakpoint
CREATE INDEX `transactions_sold` ON `transactions` (`provider_platform_id`,`environment`,`settled_at`,`transaction_id`) WHERE provider_platform_id <> consumer_platform_id;--> statement-breakpoint
CREATE INDEX `transactions_bought` ON `transactions` (`consumer_platform_id`,`environment`,`settled_at`,`transaction_id`) WHERE provider_platform_id <> consumer_platform_id;--> statement-breakpoint
CREATE INDEX `transactions_within` ON `transactions` (`provider_platform_id`,`environment`,`settled_at`,`transaction_id`) WHERE provider_platform_id = consumer_platform_id;--> statement-breakpoint
CREATE INDEX `transactions_reversed_sold` ON `transactions` (`provider_platform_id`,`settled_at`) WHERE reversed_at is not null;--> statement-breakpoint
CREATE INDEX `transactions_reversed_bought` ON `transactions` (`consumer_platform_id`,`settled_at`) WHERE reversed_at is not null;--> statement-breakpoint
CREATE TABLE `attestations` (
	`attestation_id` text NOT NULL,
	`principal_id` text NOT NULL,
	`verifier_id` text NOT NULL,
	`model` text NOT NULL,
	`tier` text,
	`proof` text,
	`signed` integer DEFAULT false NOT NULL,
	`issued_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`recorded_at` integer NOT NULL,
	`revoked_at` integer,
	`revocation_reason` text,
	PRIMARY KEY(`verifier_id`, `attestation_id`, `principal_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `attestations_by_principal` ON `attestations` (`principal_id`,`recorded_at`,`verifier_id`,`attestation_id`);--> statement-breakpoint
CREATE TABLE `cascades` (
	`subject_id` text PRIMARY KEY NOT NULL,
	`trigger` text NOT NULL,
	`reason` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`started_at` integer NOT NULL,
	`report` text,
	`after_at` integer DEFAULT 0 NOT NULL,
	`after_did` text DEFAULT '' NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cascades_by_start` ON `cascades` (started_at >= 0,`started_at`,`subject_id`);--> statement-breakpoint
CREATE TABLE `customers` (
	`customer_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`name` text NOT NULL,
	`external_ref` text,
	`status` text NOT NULL,
	`status_note` text,
	`metadata` text DEFAULT '{}' NOT NULL,
	`principal_count` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `customers_by_status` ON `customers` (`platform_id`,`environment`,`status`,`customer_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `customers_by_external_ref` ON `customers` (`platform_id`,`environment`,`external_ref`) WHERE external_ref is not null;--> statement-breakpoint
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
	`closed` integer DEFAULT false NOT NULL,
	`status_reason` text,
	`status_note` text,
	`platform_stopped` integer DEFAULT false NOT NULL,
	`customer_stopped` integer DEFAULT false NOT NULL,
	`attestation_stop` text,
	`account_stopped` text,
	`attestation_id` text NOT NULL,
	`attestation_verifier_id` text NOT NULL,
	`attestation_model` text NOT NULL,
	`attestation_tier` text,
	`attestation_signed` integer DEFAULT false NOT NULL,
	`attestation_issued_at` integer NOT NULL,
	`attestation_expires_at` integer NOT NULL,
	`expiry_notice_at` integer,
	`providers` integer DEFAULT 0 NOT NULL,
	`metadata` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_external_ref` ON `principals` (`platform_id`,`environment`,`external_ref`) WHERE tenant = 0 and closed = 0;--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_name` ON `principals` (`platform_id`,`environment`,`name_folded`,`country`) WHERE tenant = 0 and closed = 0;--> statement-breakpoint
CREATE INDEX `principals_by_platform` ON `principals` (`platform_id`,`environment`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
CREATE INDEX `principals_by_status` ON `principals` (`platform_id`,`environment`,`status`,`attestation_expires_at`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
CREATE INDEX `principals_by_customer` ON `principals` (`platform_id`,`environment`,`customer_id`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
CREATE INDEX `principals_due` ON `principals` (`attestation_expires_at`) WHERE status = 'ACTIVE';--> statement-breakpoint
CREATE INDEX `principals_by_notice` ON `principals` (`expiry_notice_at`,`principal_id`) WHERE expiry_notice_at is not null;--> statement-breakpoint
CREATE TABLE `restatements` (
	`principal_id` text PRIMARY KEY NOT NULL,
	`started_at` integer NOT NULL,
	`after_at` integer NOT NULL,
	`after_did` text NOT NULL,
	`returning` text,
	`relisting` integer DEFAULT false NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `restatements_by_start` ON `restatements` (`started_at`,`principal_id`);--> statement-breakpoint
CREATE INDEX `restatements_relisting` ON `restatements` (`relisting`,`principal_id`) WHERE relisting = 1;--> statement-breakpoint
CREATE TABLE `used_credentials` (
	`verifier_id` text NOT NULL,
	`jti` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`verifier_id`, `jti`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `used_credentials_by_end` ON `used_credentials` (`expires_at`,`verifier_id`,`jti`);--> statement-breakpoint
CREATE TABLE `verifiers` (
	`verifier_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`jwks` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spend_holds` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`expires_at` integer NOT NULL,
	`intent_id` text NOT NULL,
	`amount` integer NOT NULL,
	`network` text DEFAULT '' NOT NULL,
	`currency` text DEFAULT '' NOT NULL,
	PRIMARY KEY(`did`, `environment`, `expires_at`, `intent_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spend_ledger` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`currency` text NOT NULL,
	`at` integer NOT NULL,
	`total` integer NOT NULL,
	`intent_id` text DEFAULT '' NOT NULL,
	PRIMARY KEY(`did`, `environment`, `currency`, `at`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spend_sums` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`currency` text NOT NULL,
	`settled` integer NOT NULL,
	`open` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `currency`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhook_deliveries` (
	`webhook_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`status` text NOT NULL,
	`next_at` integer,
	`attempts` text NOT NULL,
	`event_seq` integer NOT NULL,
	`answers` blob,
	PRIMARY KEY(`webhook_id`, `delivery_id`)
);
--> statement-breakpoint
CREATE TABLE `webhook_endpoints` (
	`webhook_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`url` text NOT NULL,
	`event_types` text NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`disabled_cause` text,
	`secret` text NOT NULL,
	`seal_key` text NOT NULL,
	`previous_secret` text,
	`previous_until` integer,
	`failing_since` integer,
	`events_after` integer NOT NULL,
	`replays` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `webhook_endpoints_by_owner` ON `webhook_endpoints` (`platform_id`,`environment`,`webhook_id`);--> statement-breakpoint
CREATE INDEX `webhook_endpoints_by_key` ON `webhook_endpoints` (`seal_key`,`webhook_id`);--> statement-breakpoint
CREATE TABLE `webhook_queue` (
	`webhook_id` text NOT NULL,
	`next_at` integer NOT NULL,
	`delivery_id` text NOT NULL,
	`event_seq` integer NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`tries` integer NOT NULL,
	`logged` integer NOT NULL,
	`lease_until` integer NOT NULL,
	PRIMARY KEY(`webhook_id`, `next_at`, `delivery_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhook_replays` (
	`webhook_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`after_seq` integer NOT NULL,
	`to_seq` integer NOT NULL,
	`asked_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `status_lists` (`list_id`, `size`, `counted_at`, `created_at`) VALUES (1, 65536, 0, 0);
