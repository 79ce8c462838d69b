DROP INDEX `disputes_refunded`;--> statement-breakpoint
CREATE INDEX `disputes_refunded` ON `disputes` (`settlement_key`,`network`) WHERE refund_from is not null;