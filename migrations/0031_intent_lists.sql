ALTER TABLE `payment_intents` ADD `task_id` text;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `cancelled_at` integer;--> statement-breakpoint
UPDATE `payment_intents` SET `task_id` = (SELECT t.`task_id` FROM `transactions` t WHERE t.`transaction_id` = `payment_intents`.`transaction_id`) WHERE `transaction_id` IS NOT NULL;--> statement-breakpoint
CREATE INDEX `payment_intents_sold` ON `payment_intents` (`provider_did`,`environment`,`created_at`,`intent_id`);--> statement-breakpoint
CREATE INDEX `payment_intents_bought` ON `payment_intents` (`consumer_did`,`environment`,`created_at`,`intent_id`);