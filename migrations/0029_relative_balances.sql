UPDATE `escrows` SET `balance` = `contributed`;--> statement-breakpoint
ALTER TABLE `escrows` DROP COLUMN `elsewhere`;