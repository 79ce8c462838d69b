DROP INDEX `principals_by_external_ref`;--> statement-breakpoint
DROP INDEX `principals_by_name`;--> statement-breakpoint
ALTER TABLE `principals` ADD `status_note` text;--> statement-breakpoint
ALTER TABLE `principals` ADD `platform_stopped` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `principals` ADD `customer_stopped` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `principals` ADD `attestation_stop` text;--> statement-breakpoint
ALTER TABLE `principals` ADD `metadata` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_external_ref` ON `principals` (`platform_id`,`environment`,`external_ref`) WHERE tenant = 0 and status <> 'CLOSED';--> statement-breakpoint
CREATE UNIQUE INDEX `principals_by_name` ON `principals` (`platform_id`,`environment`,`name_folded`,`country`) WHERE tenant = 0 and status <> 'CLOSED';--> statement-breakpoint
ALTER TABLE `customers` ADD `metadata` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `principal_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `updated_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `customers_by_external_ref` ON `customers` (`platform_id`,`environment`,`external_ref`) WHERE external_ref is not null;--> statement-breakpoint
UPDATE `principals` SET `attestation_stop` = 'attestation_expired' WHERE `status` = 'ATTESTATION_EXPIRED';