ALTER TABLE `webhook_deliveries` ADD `answers` blob;--> statement-breakpoint
DELETE FROM account_volumes WHERE platform_id NOT IN (SELECT platform_id FROM platforms);
