DROP INDEX `payment_intents_by_provider`;--> statement-breakpoint
CREATE INDEX `payment_intents_by_provider` ON `payment_intents` (`provider_did`,`consumer_did`,`opened_by`,`expires_at`) WHERE status = 'OPEN';--> statement-breakpoint
ALTER TABLE `agents` ADD `earlier_key` text;