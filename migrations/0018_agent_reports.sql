DROP INDEX `events_by_owner`;--> statement-breakpoint
ALTER TABLE `events` ADD `agent_did` text;--> statement-breakpoint
ALTER TABLE `events` ADD `other_did` text;--> statement-breakpoint
UPDATE `events` SET `agent_did` = `object` ->> '$.did' WHERE `object` ->> '$.did' IS NOT NULL;--> statement-breakpoint
UPDATE `events` SET
	`agent_did` = CASE WHEN (SELECT a.`platform_id` FROM `agents` a WHERE a.`did` = `object` ->> '$.provider_did') = `events`.`platform_id` THEN `object` ->> '$.provider_did' ELSE `object` ->> '$.consumer_did' END,
	`other_did` = CASE WHEN (SELECT a.`platform_id` FROM `agents` a WHERE a.`did` = `object` ->> '$.provider_did') = `events`.`platform_id` AND (SELECT a.`platform_id` FROM `agents` a WHERE a.`did` = `object` ->> '$.consumer_did') = `events`.`platform_id` THEN `object` ->> '$.consumer_did' END
	WHERE `object` ->> '$.provider_did' IS NOT NULL;--> statement-breakpoint
CREATE INDEX `events_by_agent` ON `events` (`platform_id`,`environment`,`agent_did`,`occurred_at`);--> statement-breakpoint
CREATE INDEX `events_by_other` ON `events` (`platform_id`,`environment`,`other_did`,`occurred_at`) WHERE other_did is not null;--> statement-breakpoint
DROP INDEX `transactions_by_provider`;--> statement-breakpoint
DROP INDEX `transactions_by_consumer`;--> statement-breakpoint
CREATE INDEX `transactions_by_provider` ON `transactions` (`provider_did`,`environment`,`settled_at`,`transaction_id`);--> statement-breakpoint
CREATE INDEX `transactions_by_consumer` ON `transactions` (`consumer_did`,`environment`,`settled_at`,`transaction_id`);--> statement-breakpoint
DROP INDEX `payment_intents_open_pair`;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `transaction_id` text;--> statement-breakpoint
UPDATE `payment_intents` SET `transaction_id` = (SELECT x.`transaction_id` FROM `transactions` x WHERE x.`intent_id` = `payment_intents`.`intent_id`) WHERE `status` = 'SETTLED';--> statement-breakpoint
DROP INDEX `transactions_by_intent`;--> statement-breakpoint
CREATE INDEX `payment_intents_open_pair` ON `payment_intents` (`consumer_did`,`provider_did`,`network`,`amount`,`created_at`) WHERE transaction_id is null;--> statement-breakpoint
ALTER TABLE `tasks` ADD `intent_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `network` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `currency` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `gross` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `answer` text;--> statement-breakpoint
UPDATE `tasks` SET (`intent_id`, `network`, `currency`, `gross`) =
	(SELECT x.`intent_id`, x.`network`, x.`currency`, x.`gross` FROM `transactions` x WHERE x.`transaction_id` = `tasks`.`transaction_id`);--> statement-breakpoint
UPDATE `tasks` SET `answer` = `outcome` WHERE `status` = 'confirmed';--> statement-breakpoint
CREATE INDEX `tasks_by_provider` ON `tasks` (`provider_did`,`environment`,`answer`,`confirm_by`,`task_id`);--> statement-breakpoint
CREATE INDEX `tasks_by_consumer` ON `tasks` (`consumer_did`,`environment`,`answer`,`confirm_by`,`task_id`);