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
CREATE TABLE `notices` (
	`notice_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`kind` text NOT NULL,
	`recipient` text NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL,
	`due_at` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `notices_due` ON `notices` (`due_at`,`notice_id`);--> statement-breakpoint
CREATE TABLE `passwords` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`changed_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sessions_by_platform` ON `sessions` (`platform_id`);--> statement-breakpoint
CREATE INDEX `sessions_due` ON `sessions` (`expires_at`);--> statement-breakpoint
DROP INDEX `principals_by_external_ref`;--> statement-breakpoint
DROP INDEX `principals_by_name`;--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_external_ref` ON `principals` (`platform_id`,`environment`,`external_ref`) WHERE tenant = 0;--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_name` ON `principals` (`platform_id`,`environment`,`name_folded`,`country`) WHERE tenant = 0;--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_platforms` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`legal_name` text,
	`trading_name` text,
	`country` text,
	`email` text NOT NULL,
	`email_folded` text NOT NULL,
	`admin_contact_email` text,
	`registration_number` text,
	`registered_address` text,
	`website` text,
	`accreditation_tier` text DEFAULT 'TIER_2' NOT NULL,
	`tenant_principal_id` text,
	`documents` text DEFAULT '{}' NOT NULL,
	`submitted_at` integer,
	`decision` text,
	`decision_reason` text,
	`decided_at` integer,
	`promoted_at` integer,
	`suspension_reason` text,
	`suspended_from` text,
	`closed_at` integer,
	`erased_at` integer,
	`clock_offset_ms` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
-- An address has one account from now on: of several that share one, the first keeps it.
INSERT INTO `__new_platforms`("platform_id", "status", "legal_name", "trading_name", "country", "email", "email_folded", "admin_contact_email", "registration_number", "registered_address", "website", "accreditation_tier", "tenant_principal_id", "promoted_at", "clock_offset_ms", "created_at", "updated_at") SELECT "platform_id", "status", "legal_name", "trading_name", "country", "email", lower("email") || CASE WHEN EXISTS (SELECT 1 FROM `platforms` AS o WHERE lower(o.`email`) = lower(`platforms`.`email`) AND o.`platform_id` < `platforms`.`platform_id`) THEN '#' || "platform_id" ELSE '' END, "admin_contact_email", "registration_number", "registered_address", "website", "accreditation_tier", "tenant_principal_id", "promoted_at", "clock_offset_ms", "created_at", "updated_at" FROM `platforms`;--> statement-breakpoint
DROP TABLE `platforms`;--> statement-breakpoint
ALTER TABLE `__new_platforms` RENAME TO `platforms`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `platforms_by_status` ON `platforms` (`status`,`platform_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `platforms_by_email` ON `platforms` (`email_folded`) WHERE status <> 'CLOSED';--> statement-breakpoint
CREATE INDEX `platforms_unverified` ON `platforms` (`created_at`) WHERE status = 'EMAIL_PENDING';--> statement-breakpoint
CREATE INDEX `platforms_to_erase` ON `platforms` (`closed_at`) WHERE status = 'CLOSED' and erased_at is null;--> statement-breakpoint
ALTER TABLE `management_keys` ADD `last_used_at` integer;--> statement-breakpoint
DROP INDEX `management_keys_by_platform`;--> statement-breakpoint
CREATE INDEX `management_keys_by_platform` ON `management_keys` (`platform_id`,`expires_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `management_keys_current` ON `management_keys` (`platform_id`,`environment`) WHERE expires_at is null;--> statement-breakpoint
CREATE INDEX `management_keys_ended` ON `management_keys` (`expires_at`) WHERE expires_at is not null;