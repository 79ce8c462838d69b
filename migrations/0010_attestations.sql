CREATE TABLE `used_credentials` (
	`verifier_id` text NOT NULL,
	`jti` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`verifier_id`, `jti`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `used_credentials_by_end` ON `used_credentials` (`expires_at`,`verifier_id`,`jti`);--> statement-breakpoint
DROP INDEX `agents_by_status`;--> statement-breakpoint
ALTER TABLE `agents` ADD `ends_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `agents` SET `ends_at` = coalesce((SELECT `attestation_expires_at` FROM `principals` WHERE `principals`.`principal_id` = `agents`.`principal_id`), 0);--> statement-breakpoint
CREATE INDEX `agents_by_status` ON `agents` (`platform_id`,`environment`,`status`,`ends_at`,`did`);--> statement-breakpoint
DROP INDEX `principals_by_external_ref`;--> statement-breakpoint
DROP INDEX `principals_by_name`;--> statement-breakpoint
DROP INDEX `principals_by_status`;--> statement-breakpoint
ALTER TABLE `principals` ADD `closed` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `principals` ADD `expiry_notice_at` integer;--> statement-breakpoint
ALTER TABLE `principals` ADD `providers` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `principals` SET `closed` = 1 WHERE `status` = 'CLOSED';--> statement-breakpoint
UPDATE `principals` SET `expiry_notice_at` = `attestation_expires_at` - 2592000000 WHERE `closed` = 0 AND `attestation_expires_at` > unixepoch() * 1000 + 86400000;--> statement-breakpoint
UPDATE `principals` SET `providers` = (SELECT count(*) FROM `agents` WHERE `agents`.`principal_id` = `principals`.`principal_id` AND `economic_role` = 'PROVIDER' AND `agents`.`status` NOT IN ('REVOKED', 'TERMINATED'));--> statement-breakpoint
CREATE INDEX `principals_by_notice` ON `principals` (`expiry_notice_at`,`principal_id`) WHERE expiry_notice_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_external_ref` ON `principals` (`platform_id`,`environment`,`external_ref`) WHERE tenant = 0 and closed = 0;--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_name` ON `principals` (`platform_id`,`environment`,`name_folded`,`country`) WHERE tenant = 0 and closed = 0;--> statement-breakpoint
CREATE INDEX `principals_by_status` ON `principals` (`platform_id`,`environment`,`status`,`attestation_expires_at`,`principal_id`) WHERE tenant = 0;--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_attestations` (
	`attestation_id` text NOT NULL,
	`principal_id` text NOT NULL,
	`verifier_id` text NOT NULL,
	`model` text NOT NULL,
	`tier` text,
	`proof` text,
	`issued_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`recorded_at` integer NOT NULL,
	`revoked_at` integer,
	PRIMARY KEY(`verifier_id`, `attestation_id`, `principal_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_attestations`("attestation_id", "principal_id", "verifier_id", "model", "tier", "proof", "issued_at", "expires_at", "recorded_at", "revoked_at") SELECT "attestation_id", "principal_id", "verifier_id", "model", "tier", "proof", "issued_at", "expires_at", "recorded_at", NULL FROM `attestations`;--> statement-breakpoint
DROP TABLE `attestations`;--> statement-breakpoint
ALTER TABLE `__new_attestations` RENAME TO `attestations`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `attestations_by_principal` ON `attestations` (`principal_id`,`recorded_at`,`verifier_id`,`attestation_id`);--> statement-breakpoint
ALTER TABLE `cascades` ADD `report` text;--> statement-breakpoint
ALTER TABLE `customers` ADD `status_note` text;--> statement-breakpoint
CREATE INDEX `customers_by_status` ON `customers` (`platform_id`,`environment`,`status`,`customer_id`);