// SPDX-License-Identifier: Apache-2.0
// On-chain settlement (CHN-1 to CHN-7): takes a consumer's payment and splits it, in one transaction, into the fee, the provider's escrow and
// the provider's operational wallet. Escrow stands in each provider's own vault; what this contract itself holds is fees.
pragma solidity 0.8.37;

import {IAccessManager} from "@openzeppelin/contracts/access/manager/IAccessManager.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {EscrowVault} from "./EscrowVault.sol";

/// @dev EIP-3009 as USDC 2.2 has it: with signatures of smart wallets (ERC-1271) too.
interface IAuthorizedToken {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

/// @title Settlement contract, second edition
/// @notice Payers, providers' wallets and all other accounts call this contract directly. A call that needs a role goes through the authority
/// (OpenZeppelin's AccessManager). It knows the holders of each role, delays calls of roles with a delay, and lets the guardian cancel them
/// until they are executed. A key can move escrow only to the `refundTo` of a settlement or to the provider's own wallet.
/// @dev All amounts are base units of the token, all times epoch seconds. The authority cannot be exchanged. If a token refuses, the call reverts
/// with its error or `SafeERC20FailedOperation`; if it calls back, with `ReentrancyGuardReentrantCall`.
contract SettlementContract is ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using SafeCast for uint256;

    /// @notice The unit of rates: hundredths of a percent in a whole.
    uint256 public constant BPS = 10_000;
    /// @notice The fee can never be set above this, hundredths of a percent: 0.5 %.
    uint256 public constant MAX_FEE_BPS = 50;
    /// @notice The part of the net that goes to escrow while the vault is below its threshold, hundredths of a percent: 10 %.
    uint256 public constant ESCROW_BPS = 1_000;
    /// @notice How long after a settlement the provider's vault can pay it back, seconds.
    uint256 public constant PAY_OUT_WINDOW = 400 days;

    /// @notice What a payer agrees to.
    /// @param token a listed token
    /// @param amount gross, base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @param intentHash names the intent. With the highest bit clear: keccak256 of its id. With that bit set: the low 20 bytes are the one
    /// address that may pay it, and the bits between are those of keccak256 of its id
    /// @param operationalWallet the provider's wallet: a payment to another one reverts
    /// @param maxFeeBps the highest fee, hundredths of a percent of the gross
    /// @param deadline epoch seconds: a later block reverts
    /// @param refundTo where payouts and refunds of it go: neither this contract nor the provider's vault
    struct Payment {
        address token;
        uint256 amount;
        bytes32 providerDidHash;
        bytes32 consumerDidHash;
        bytes32 intentHash;
        address operationalWallet;
        uint16 maxFeeBps;
        uint64 deadline;
        address refundTo;
    }

    /// @notice The facts of a settlement. The contract stores only a commitment to them, so payouts and refunds pass them again; the settlement's
    /// events state each.
    /// @param key the settlement's key
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token that was paid
    /// @param gross what was paid, base units
    /// @param refundTo where payouts and refunds go
    /// @param settledAt time of the block, epoch seconds
    /// @param paidOut what the vault has paid back of it so far, base units
    struct Settlement {
        bytes32 key;
        bytes32 providerDidHash;
        address token;
        uint96 gross;
        address refundTo;
        uint64 settledAt;
        uint96 paidOut;
    }

    struct Split {
        address operationalWallet;
        uint96 threshold;
    }

    /// @notice The only caller of functions that need a role: an AccessManager of OpenZeppelin.
    IAccessManager public immutable authority;
    /// @notice The code that every vault is a clone of.
    address public immutable vaultImplementation;

    // One slot.
    /// @notice Where fees are swept to.
    address public feeRecipient;
    /// @notice Hundredths of a percent of the gross.
    uint16 public feeBps = 5;
    /// @notice Whether payments and deposits are stopped.
    bool public paused;
    /// @notice The number of payments that named no intent.
    uint72 public plainPayments;

    /// @notice The threshold of an unrated provider in a token, base units; zero if the token is not accepted.
    mapping(address token => uint96 base) public baseOf;
    mapping(bytes32 providerDidHash => mapping(address token => Split)) private _splits;
    /// @notice The part of a vault that is not released while disputes are open, base units.
    mapping(bytes32 providerDidHash => mapping(address token => uint256)) public reserveOf;
    /// @notice keccak256 of the abi-encoded facts of a settlement; zero where nothing was paid under the key.
    mapping(bytes32 key => bytes32) public commitmentOf;
    /// @notice The refunded part of a settlement, base units. It is not in the commitment, so a refund invalidates no scheduled payout.
    mapping(bytes32 key => uint256) public refundedOf;
    /// @notice The token that a provider was registered in first; zero for an unknown provider.
    mapping(bytes32 providerDidHash => address) public firstTokenOf;

    /// @notice A payment was split.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @param intentHash names the intent, see `Payment`; zero for a payment through `pay`
    /// @param token the token that was paid
    /// @param payer whose tokens they were
    /// @param gross what was paid, base units: the sum of the three parts
    /// @param fee the part that stays in this contract until it is swept, base units
    /// @param escrow the part that went to the provider's vault, base units
    /// @param operational the part that went to the provider's wallet, base units
    event Settled(
        bytes32 indexed providerDidHash,
        bytes32 indexed consumerDidHash,
        bytes32 indexed intentHash,
        address token,
        address payer,
        uint256 gross,
        uint256 fee,
        uint256 escrow,
        uint256 operational
    );
    /// @notice More of the settlement whose `Settled` is the log just before this one.
    /// @param key the settlement's key
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param operationalWallet the wallet that was paid
    /// @param refundTo where payouts and refunds of it go
    /// @param vaultBalance what the vault holds after it, base units
    event SettlementRecorded(
        bytes32 indexed key,
        bytes32 indexed providerDidHash,
        address operationalWallet,
        address refundTo,
        uint256 vaultBalance
    );
    /// @notice A provider has a split in a token, and a vault.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param vault the provider's vault, the same in every token
    /// @param operationalWallet receives what is neither fee nor escrow
    /// @param threshold escrow is withheld until the vault holds this much, base units
    event ProviderRegistered(
        bytes32 indexed providerDidHash, address indexed token, address vault, address operationalWallet, uint256 threshold
    );
    /// @notice Escrow is withheld up to another balance from now on.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param threshold base units
    event ThresholdSet(bytes32 indexed providerDidHash, address indexed token, uint256 threshold);
    /// @notice Another wallet is paid from now on.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param operationalWallet the new wallet
    event OperationalWalletSet(bytes32 indexed providerDidHash, address indexed token, address operationalWallet);
    /// @notice The previous wallet itself named the wallet of the `OperationalWalletSet` in the log just before this one.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param previous the wallet before
    event OperationalWalletConfirmed(bytes32 indexed providerDidHash, address indexed token, address indexed previous);
    /// @notice The reserve above the threshold, which is not released, has changed.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param reserve base units
    event ReserveSet(bytes32 indexed providerDidHash, address indexed token, uint256 reserve);
    /// @notice Tokens were deposited into a vault, without a payment.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    /// @param from whose tokens they were
    /// @param amount base units
    /// @param vaultBalance what the vault holds after it, base units
    event EscrowDeposited(
        bytes32 indexed providerDidHash, address indexed token, address indexed from, uint256 amount, uint256 vaultBalance
    );
    /// @notice The balance above threshold and reserve went to the provider's wallet.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    /// @param to the provider's wallet
    /// @param amount base units
    /// @param vaultBalance what the vault holds after it, base units
    event SurplusReleased(
        bytes32 indexed providerDidHash, address indexed token, address indexed to, uint256 amount, uint256 vaultBalance
    );
    /// @notice A vault paid back a part of a settlement.
    /// @param key the settlement's key
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param refundTo where it went
    /// @param token the token
    /// @param amount base units
    /// @param vaultBalance what the vault holds after it, base units
    event PaidOut(
        bytes32 indexed key,
        bytes32 indexed providerDidHash,
        address indexed refundTo,
        address token,
        uint256 amount,
        uint256 vaultBalance
    );
    /// @notice An account paid back a part of a settlement, out of its own tokens.
    /// @param key the settlement's key
    /// @param from whose tokens they were
    /// @param refundTo where they went
    /// @param token the token
    /// @param amount base units
    event Refunded(
        bytes32 indexed key, address indexed from, address indexed refundTo, address token, uint256 amount
    );
    /// @notice Payouts and refunds of a settlement go to another address from now on.
    /// @param key the settlement's key
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param refundTo the new address
    event RefundToSet(bytes32 indexed key, bytes32 indexed providerDidHash, address indexed refundTo);
    /// @notice Later payments have another fee.
    /// @param feeBps hundredths of a percent of the gross
    event FeeSet(uint256 feeBps);
    /// @notice Fees are swept to another address from now on.
    /// @param feeRecipient that address
    event FeeRecipientSet(address feeRecipient);
    /// @notice The whole balance of a token was sent to the fee's recipient.
    /// @param token the token
    /// @param to the fee's recipient
    /// @param amount base units
    event FeesSwept(address indexed token, address indexed to, uint256 amount);
    /// @notice A token is accepted from now on, or no longer.
    /// @param token the token
    /// @param base the threshold of an unrated provider, base units; zero if it is no longer accepted
    event TokenListed(address indexed token, uint256 base);
    /// @notice Payments and deposits are stopped.
    event Paused();
    /// @notice Payments and deposits are let through again.
    event Unpaused();

    /// @notice A call that needs a role has to come from the authority.
    /// @param caller who called instead
    error NotAuthority(address caller);
    /// @notice The amount is zero, or there is nothing to sweep.
    error ZeroAmount();
    /// @notice A hash that has to name a party or an intent is zero.
    error ZeroHash();
    /// @notice An address is zero, or the authority is no contract.
    error ZeroAddress();
    /// @notice Payments and deposits are stopped.
    error PaymentsPaused();
    /// @notice The token is not listed, or no contract.
    /// @param token that token
    error UnknownToken(address token);
    /// @notice The provider is not registered in the token.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    error UnknownProvider(bytes32 providerDidHash, address token);
    /// @notice No settlement has these facts.
    /// @param key the key among them
    error UnknownSettlement(bytes32 key);
    /// @notice The provider is registered in the token with another wallet or threshold.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    error ProviderExists(bytes32 providerDidHash, address token);
    /// @notice The intent was paid before, with the same parties, token and amount.
    /// @param key the settlement's key
    error AlreadyPaid(bytes32 key);
    /// @notice Not a wallet that money may be sent to: this contract or the provider's vault.
    /// @param wallet that wallet
    error InvalidWallet(address wallet);
    /// @notice The provider's wallet is this one, and the caller names another one.
    /// @param operationalWallet the provider's wallet
    error WalletDiffers(address operationalWallet);
    /// @notice The intent is to be paid by this address and not by the one that pays.
    /// @param payer the address that the intent names
    error PayerDiffers(address payer);
    /// @notice The block is later than the payer has allowed.
    /// @param deadline epoch seconds
    error DeadlinePassed(uint256 deadline);
    /// @notice The fee is above the payer's highest, or the contract's.
    /// @param feeBps the fee, hundredths of a percent of the gross
    /// @param maximum the highest, in the same unit
    error FeeTooHigh(uint256 feeBps, uint256 maximum);
    /// @notice The threshold is out of its bounds, or the caller of `setLowThreshold` names another present threshold.
    /// @param threshold the threshold that was asked for, base units
    /// @param least the lowest, base units
    /// @param most the highest, base units; a low threshold has to be below it
    error InvalidThreshold(uint256 threshold, uint256 least, uint256 most);
    /// @notice More than is left of the settlement's gross.
    /// @param amount what was asked for, base units
    /// @param available what is left, base units
    error ExceedsGross(uint256 amount, uint256 available);
    /// @notice More than the vault holds.
    /// @param amount what was asked for, base units
    /// @param available what the vault holds, base units
    error ExceedsVault(uint256 amount, uint256 available);
    /// @notice The settlement is older than `PAY_OUT_WINDOW`.
    /// @param settledAt its block's time, epoch seconds
    error TooOld(uint256 settledAt);
    /// @notice The token did not move the whole gross into this contract.
    /// @param held what this contract holds of the token, base units
    /// @param due what it would hold with the gross, base units
    error AmountNotReceived(uint256 held, uint256 due);
    /// @notice Refunds of the settlement go to this address and not to the caller.
    /// @param refundTo that address
    error RefundToDiffers(address refundTo);
    /// @notice The token does not refuse the settlement's `refundTo`: only its holder can name another address.
    /// @param refundTo that address
    error RefundToAccepted(address refundTo);
    /// @notice The vault holds no more than threshold and reserve.
    error NothingToRelease();

    /// @dev The authority has checked the caller's role and delay before it calls.
    modifier restricted() {
        if (msg.sender != address(authority)) revert NotAuthority(msg.sender);
        _;
    }

    /// @dev Errors: `ZeroAddress`, `InvalidWallet`, `UnknownToken`.
    /// @param authority_ the AccessManager
    /// @param feeRecipient_ where fees are swept to
    /// @param token the first token of the list
    /// @param base the threshold of an unrated provider in it, base units
    constructor(IAccessManager authority_, address feeRecipient_, address token, uint96 base) {
        if (address(authority_).code.length == 0) revert ZeroAddress();
        authority = authority_;
        vaultImplementation = address(new EscrowVault());
        _setFeeRecipient(feeRecipient_);
        _listToken(token, base);
    }

    // ---- Payment -------------------------------------------------------------------------------------------------

    /// @notice Pays a provider out of the caller's allowance, without naming an intent. Payouts and refunds of it go to the caller.
    /// @dev Errors: `PaymentsPaused`, `ZeroAmount`, `ZeroHash`, `UnknownToken`, `UnknownProvider`, `AmountNotReceived`,
    /// `SafeCastOverflowedUintDowncast`.
    /// @param token a listed token
    /// @param amount gross, base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @return key the settlement's key: keccak256(abi.encode(this contract, number of the payment))
    function pay(address token, uint256 amount, bytes32 providerDidHash, bytes32 consumerDidHash)
        external
        nonReentrant
        returns (bytes32 key)
    {
        key = keccak256(abi.encode(address(this), ++plainPayments));
        _settle(key, _unbound(token, amount, providerDidHash, consumerDidHash, bytes32(0)), msg.sender, false, false);
    }

    /// @notice Pays a provider out of the caller's allowance, for one payment intent. Payouts and refunds of it go to the caller.
    /// @dev Errors: `PaymentsPaused`, `ZeroAmount`, `ZeroHash`, `PayerDiffers`, `UnknownToken`, `AlreadyPaid`, `UnknownProvider`, `AmountNotReceived`,
    /// `SafeCastOverflowedUintDowncast`.
    /// @param token a listed token
    /// @param amount gross, base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @param intentHash names the intent, see `Payment`
    /// @return key the settlement's key, see `keyOf`; a second payment under it reverts with `AlreadyPaid`
    function payIntent(
        address token,
        uint256 amount,
        bytes32 providerDidHash,
        bytes32 consumerDidHash,
        bytes32 intentHash
    ) external nonReentrant returns (bytes32 key) {
        Payment memory payment = _unbound(token, amount, providerDidHash, consumerDidHash, intentHash);
        key = keyOf(payment);
        _settle(key, payment, msg.sender, false, false);
    }

    /// @notice Pays out of the caller's allowance what the caller has agreed to, or nothing.
    /// @dev Errors: `DeadlinePassed`, `FeeTooHigh`, `WalletDiffers`, `PaymentsPaused`, `ZeroAmount`, `ZeroHash`, `PayerDiffers`, `UnknownToken`,
    /// `AlreadyPaid`, `UnknownProvider`, `ZeroAddress`, `InvalidWallet`, `AmountNotReceived`, `SafeCastOverflowedUintDowncast`.
    /// @param payment what the caller agrees to
    /// @return key the settlement's key, see `keyOf`; a second payment under it reverts with `AlreadyPaid`
    function settle(Payment calldata payment) external nonReentrant returns (bytes32 key) {
        Payment memory terms = payment;
        key = keyOf(terms);
        _settle(key, terms, msg.sender, true, false);
    }

    /// @notice Pays what the payer has agreed to by the payer's EIP-3009 authorization; anyone may submit it.
    /// @dev The authorization's nonce is `nonceOf(payment, salt)`, so whoever sees the signature can do nothing with it but this payment.
    /// Errors: `DeadlinePassed`, `FeeTooHigh`, `WalletDiffers`, `PaymentsPaused`, `ZeroAmount`, `ZeroHash`, `PayerDiffers`, `UnknownToken`,
    /// `AlreadyPaid`, `UnknownProvider`, `ZeroAddress`, `InvalidWallet`, `AmountNotReceived`, `SafeCastOverflowedUintDowncast`.
    /// @param payment what the payer agrees to
    /// @param from the payer, who signed
    /// @param validAfter epoch seconds
    /// @param validBefore epoch seconds
    /// @param salt any value of the payer's choice
    /// @param signature of an account, or of a smart wallet (ERC-1271)
    /// @return key the settlement's key, see `keyOf`; a second payment under it reverts with `AlreadyPaid`
    function settleWithAuthorization(
        Payment calldata payment,
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 salt,
        bytes calldata signature
    ) external nonReentrant returns (bytes32 key) {
        Payment memory terms = payment;
        key = keyOf(terms);
        // Only a listed token's code is called.
        if (baseOf[terms.token] == 0) revert UnknownToken(terms.token);
        uint256 before = IERC20(terms.token).balanceOf(address(this));
        IAuthorizedToken(terms.token).receiveWithAuthorization(
            from, address(this), terms.amount, validAfter, validBefore, nonceOf(payment, salt), signature
        );
        _requireReceived(terms.token, before, terms.amount);
        // After it, because a smart wallet was asked for its signature: nothing can change between the checks and the split.
        _settle(key, terms, from, true, true);
    }

    /// @notice Puts tokens of the caller's allowance into a provider's vault, without a payment.
    /// @dev Errors: `PaymentsPaused`, `ZeroAmount`, `UnknownToken`, `UnknownProvider`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token a listed token
    /// @param amount base units
    function depositEscrow(bytes32 providerDidHash, address token, uint256 amount) external nonReentrant {
        if (paused) revert PaymentsPaused();
        if (amount == 0) revert ZeroAmount();
        if (baseOf[token] == 0) revert UnknownToken(token);
        _requireSplit(providerDidHash, token);
        address vault = vaultOf(providerDidHash);
        IERC20(token).safeTransferFrom(msg.sender, vault, amount);
        emit EscrowDeposited(providerDidHash, token, msg.sender, amount, IERC20(token).balanceOf(vault));
    }

    /// @notice Refunds a payer out of the caller's own allowance, as a concession or an accepted offer says. Takes nothing from a vault.
    /// @dev At most what payouts and earlier refunds have left of the gross. A payout is not bounded by refunds: an award is the arbiter's.
    /// Errors: `ZeroAmount`, `UnknownSettlement`, `ExceedsGross`.
    /// @param settlement its facts
    /// @param amount base units
    function refund(Settlement calldata settlement, uint256 amount) external nonReentrant {
        if (amount == 0) revert ZeroAmount();
        _requireSettlement(settlement);
        uint256 refunded = refundedOf[settlement.key];
        uint256 returned = settlement.paidOut + refunded;
        uint256 available = returned < settlement.gross ? settlement.gross - returned : 0;
        if (amount > available) revert ExceedsGross(amount, available);
        refundedOf[settlement.key] = refunded + amount;
        IERC20(settlement.token).safeTransferFrom(msg.sender, settlement.refundTo, amount);
        emit Refunded(settlement.key, msg.sender, settlement.refundTo, settlement.token, amount);
    }

    /// @notice Releases the balance above threshold and reserve to the provider's operational wallet. Anyone may call it.
    /// @dev Errors: `UnknownProvider`, `NothingToRelease`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @return amount base units
    function releaseSurplus(bytes32 providerDidHash, address token) external nonReentrant returns (uint256 amount) {
        Split memory split = _requireSplit(providerDidHash, token);
        address vault = vaultOf(providerDidHash);
        uint256 balance = IERC20(token).balanceOf(vault);
        uint256 kept = uint256(split.threshold) + reserveOf[providerDidHash][token];
        if (balance <= kept) revert NothingToRelease();
        amount = balance - kept;
        EscrowVault(vault).release(IERC20(token), split.operationalWallet, amount);
        emit SurplusReleased(providerDidHash, token, split.operationalWallet, amount, kept);
    }

    /// @notice Sets another wallet for later payments, at once. Only the present wallet may call it.
    /// @dev Errors: `UnknownProvider`, `WalletDiffers`, `ZeroAddress`, `InvalidWallet`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param operationalWallet the new wallet
    function moveOperationalWallet(bytes32 providerDidHash, address token, address operationalWallet) external {
        _requirePresent(providerDidHash, token, msg.sender);
        _setWallet(providerDidHash, token, operationalWallet);
        emit OperationalWalletConfirmed(providerDidHash, token, msg.sender);
    }

    /// @notice Sets another address for later payouts and refunds of a settlement, at once. Only the present address may call it.
    /// @dev A payout that was scheduled with the previous facts fails: only its receiver can cause that.
    /// Errors: `RefundToDiffers`, `UnknownSettlement`, `ZeroAddress`, `InvalidWallet`.
    /// @param settlement its facts
    /// @param refundTo the new address: neither this contract nor the provider's vault
    function moveRefundTo(Settlement calldata settlement, address refundTo) external {
        if (msg.sender != settlement.refundTo) revert RefundToDiffers(settlement.refundTo);
        _setRefundTo(settlement, refundTo);
    }

    /// @notice Sends the whole balance of a token, fees and mistaken transfers, to the fee's recipient. Anyone may call it.
    /// @dev Errors: `ZeroAmount`.
    /// @param token an ERC-20 token
    /// @return amount base units
    function sweepFees(address token) external nonReentrant returns (uint256 amount) {
        amount = IERC20(token).balanceOf(address(this));
        if (amount == 0) revert ZeroAmount();
        IERC20(token).safeTransfer(feeRecipient, amount);
        emit FeesSwept(token, feeRecipient, amount);
    }

    // ---- Registrar -----------------------------------------------------------------------------------------------

    /// @notice Registers a provider's split in one token and makes its vault if there is none. Repeating the call has no effect; other values
    /// for a registered provider are refused, because they have their own setters.
    /// @dev Errors: `NotAuthority`, `ZeroHash`, `ProviderExists`, `UnknownToken`, `InvalidThreshold`, `WalletDiffers`, `ZeroAddress`,
    /// `InvalidWallet`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token a listed token
    /// @param operationalWallet receives what is neither fee nor escrow; in a further token, the present wallet of the first one
    /// @param threshold escrow is withheld until the vault holds this much, base units: between half of the token's base and the base
    function registerProvider(bytes32 providerDidHash, address token, address operationalWallet, uint256 threshold)
        external
        restricted
    {
        if (providerDidHash == bytes32(0)) revert ZeroHash();
        Split storage split = _splits[providerDidHash][token];
        if (split.operationalWallet != address(0)) {
            if (split.operationalWallet == operationalWallet && split.threshold == threshold) return;
            revert ProviderExists(providerDidHash, token);
        }
        _requireThreshold(token, threshold);
        address vault = vaultOf(providerDidHash);
        _requireWallet(operationalWallet, vault);
        split.operationalWallet = operationalWallet;
        split.threshold = threshold.toUint96();
        address first = firstTokenOf[providerDidHash];
        if (first == address(0)) {
            firstTokenOf[providerDidHash] = token;
            Clones.cloneDeterministic(vaultImplementation, providerDidHash);
        } else {
            // Another wallet waits for its delay, in every token: `setOperationalWallet`.
            _requirePresent(providerDidHash, first, operationalWallet);
        }
        emit ProviderRegistered(providerDidHash, token, vault, operationalWallet, threshold);
    }

    /// @notice Sets the balance up to which escrow is withheld, between half of the token's base and the base.
    /// @dev Errors: `NotAuthority`, `UnknownProvider`, `UnknownToken`, `InvalidThreshold`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param threshold base units
    function setThreshold(bytes32 providerDidHash, address token, uint256 threshold) external restricted {
        _requireSplit(providerDidHash, token);
        _requireThreshold(token, threshold);
        _setThreshold(providerDidHash, token, threshold);
    }

    /// @notice Sets a lower threshold, for a provider that leaves. The role that calls it has a delay.
    /// @dev Errors: `NotAuthority`, `UnknownProvider`, `InvalidThreshold`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token, which may have been taken off the list
    /// @param present the threshold that it replaces, base units: a call that was scheduled before another one took effect fails
    /// @param threshold below that, base units
    function setLowThreshold(bytes32 providerDidHash, address token, uint256 present, uint256 threshold)
        external
        restricted
    {
        Split memory split = _requireSplit(providerDidHash, token);
        if (split.threshold != present || threshold >= present) {
            revert InvalidThreshold(threshold, 0, split.threshold);
        }
        _setThreshold(providerDidHash, token, threshold);
    }

    /// @notice Sets another wallet for later payments, without a call of the present one. The role that calls it has a delay.
    /// @dev Errors: `NotAuthority`, `UnknownProvider`, `WalletDiffers`, `ZeroAddress`, `InvalidWallet`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param present the wallet that it replaces: a call that was scheduled before another one took effect fails
    /// @param operationalWallet the new wallet
    function setOperationalWallet(bytes32 providerDidHash, address token, address present, address operationalWallet)
        external
        restricted
    {
        _requirePresent(providerDidHash, token, present);
        _setWallet(providerDidHash, token, operationalWallet);
    }

    // ---- Arbiter -------------------------------------------------------------------------------------------------

    /// @notice Sets the part of a vault that is not released while disputes are open.
    /// @dev Errors: `NotAuthority`, `UnknownProvider`, `SafeCastOverflowedUintDowncast`.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param reserve above the threshold, base units
    function setReserve(bytes32 providerDidHash, address token, uint256 reserve) external restricted {
        _requireSplit(providerDidHash, token);
        reserveOf[providerDidHash][token] = reserve.toUint96();
        emit ReserveSet(providerDidHash, token, reserve);
    }

    /// @notice Pays out of the provider's vault to the settlement's `refundTo`: over all payouts at most its gross, and at most what the vault
    /// holds. Works while payments are paused and after a token was delisted. The role that calls it has a delay.
    /// @dev Errors: `NotAuthority`, `ZeroAmount`, `UnknownSettlement`, `TooOld`, `ExceedsGross`, `ExceedsVault`.
    /// @param settlement its facts, with the sum that was paid out before: if two payouts are scheduled with the same facts, one is executed
    /// @param amount base units
    function payOut(Settlement calldata settlement, uint256 amount) external restricted nonReentrant {
        if (amount == 0) revert ZeroAmount();
        _requireSettlement(settlement);
        if (block.timestamp > settlement.settledAt + PAY_OUT_WINDOW) revert TooOld(settlement.settledAt);
        uint256 available = settlement.gross - settlement.paidOut;
        if (amount > available) revert ExceedsGross(amount, available);
        address vault = vaultOf(settlement.providerDidHash);
        IERC20 token = IERC20(settlement.token);
        uint256 balance = token.balanceOf(vault);
        if (amount > balance) revert ExceedsVault(amount, balance);
        Settlement memory after_ = settlement;
        after_.paidOut += amount.toUint96();
        commitmentOf[settlement.key] = _commitmentTo(after_);
        EscrowVault(vault).release(token, settlement.refundTo, amount);
        emit PaidOut(
            settlement.key,
            settlement.providerDidHash,
            settlement.refundTo,
            settlement.token,
            amount,
            balance - amount
        );
    }

    /// @notice Sets another address for later payouts and refunds of a settlement if the token refuses the present one, as by a blacklist. The role
    /// that calls it has a delay.
    /// @dev A token refuses an address if it does not move zero tokens from the vault to it, but moves zero tokens to the new address. If the inner
    /// call has too little gas, the outer one has too little as well.
    /// Errors: `NotAuthority`, `UnknownSettlement`, `RefundToAccepted`, `ZeroAddress`, `InvalidWallet`.
    /// @param settlement its facts
    /// @param refundTo the new address: neither this contract nor the provider's vault
    function setRefundTo(Settlement calldata settlement, address refundTo) external restricted {
        _setRefundTo(settlement, refundTo);
        EscrowVault vault = EscrowVault(vaultOf(settlement.providerDidHash));
        IERC20 token = IERC20(settlement.token);
        try vault.release(token, settlement.refundTo, 0) {
            revert RefundToAccepted(settlement.refundTo);
        } catch {
            vault.release(token, refundTo, 0);
        }
    }

    // ---- Guardian and admin --------------------------------------------------------------------------------------

    /// @notice Stops payments and deposits. Payouts, refunds, releases, cancellations and sweeps go on.
    /// @dev Errors: `NotAuthority`.
    function pause() external restricted {
        paused = true;
        emit Paused();
    }

    /// @notice Lets payments and deposits through again.
    /// @dev Errors: `NotAuthority`.
    function unpause() external restricted {
        paused = false;
        emit Unpaused();
    }

    /// @notice Sets the fee of later payments.
    /// @dev Errors: `NotAuthority`, `FeeTooHigh`.
    /// @param newFeeBps hundredths of a percent of the gross, at most `MAX_FEE_BPS`
    function setFeeBps(uint256 newFeeBps) external restricted {
        if (newFeeBps > MAX_FEE_BPS) revert FeeTooHigh(newFeeBps, MAX_FEE_BPS);
        feeBps = uint16(newFeeBps);
        emit FeeSet(newFeeBps);
    }

    /// @notice Sets where fees are swept to.
    /// @dev Errors: `NotAuthority`, `ZeroAddress`, `InvalidWallet`.
    /// @param newFeeRecipient an address that is not this contract
    function setFeeRecipient(address newFeeRecipient) external restricted {
        _setFeeRecipient(newFeeRecipient);
    }

    /// @notice Puts a token on the list, or takes it off with a base of zero. Only tokens that move exactly the requested amount belong on it.
    /// @dev Errors: `NotAuthority`, `UnknownToken`.
    /// @param token an ERC-20 token with EIP-3009
    /// @param base the threshold of an unrated provider, base units
    function listToken(address token, uint96 base) external restricted {
        _listToken(token, base);
    }

    // ---- Views ---------------------------------------------------------------------------------------------------

    /// @notice The provider's vault; the address is the same before it exists.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @return the vault's address
    function vaultOf(bytes32 providerDidHash) public view returns (address) {
        return Clones.predictDeterministicAddress(vaultImplementation, providerDidHash);
    }

    /// @notice The provider's split in a token; the zero address if there is none.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    /// @return operationalWallet the wallet that is paid
    /// @return threshold base units
    function splitOf(bytes32 providerDidHash, address token)
        external
        view
        returns (address operationalWallet, uint256 threshold)
    {
        Split storage split = _splits[providerDidHash][token];
        return (split.operationalWallet, split.threshold);
    }

    /// @notice The balance of the provider's vault, base units.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    /// @return base units
    function escrowBalance(bytes32 providerDidHash, address token) public view returns (uint256) {
        return IERC20(token).balanceOf(vaultOf(providerDidHash));
    }

    /// @notice How a payment would be split now, base units.
    /// @dev Errors: `UnknownProvider`.
    /// @param token a listed token
    /// @param amount gross, base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @return fee the part that stays in this contract, base units
    /// @return escrow the part for the provider's vault, base units
    /// @return operational the part for the provider's wallet, base units
    function quote(address token, uint256 amount, bytes32 providerDidHash)
        external
        view
        returns (uint256 fee, uint256 escrow, uint256 operational)
    {
        Split memory split = _requireSplit(providerDidHash, token);
        return _partsOf(amount, feeBps, split.threshold, escrowBalance(providerDidHash, token));
    }

    /// @notice The key of a payment that names an intent: keccak256(abi.encode(provider, consumer, intent, token, amount)).
    /// @dev Errors: `ZeroHash`.
    /// @param payment what the payer agrees to
    /// @return the settlement's key
    function keyOf(Payment memory payment) public pure returns (bytes32) {
        if (payment.intentHash == bytes32(0)) revert ZeroHash();
        return keccak256(
            abi.encode(
                payment.providerDidHash, payment.consumerDidHash, payment.intentHash, payment.token, payment.amount
            )
        );
    }

    /// @notice The nonce of the authorization of a payment: keccak256(abi.encode(payment, salt)).
    /// @param payment what the payer agrees to
    /// @param salt any value of the payer's choice
    /// @return the nonce
    function nonceOf(Payment calldata payment, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(payment, salt));
    }

    // ---- Inside --------------------------------------------------------------------------------------------------

    /// @dev A payment that fixes neither wallet nor fee nor deadline.
    function _unbound(
        address token,
        uint256 amount,
        bytes32 providerDidHash,
        bytes32 consumerDidHash,
        bytes32 intentHash
    ) private view returns (Payment memory payment) {
        payment.token = token;
        payment.amount = amount;
        payment.providerDidHash = providerDidHash;
        payment.consumerDidHash = consumerDidHash;
        payment.intentHash = intentHash;
        payment.refundTo = msg.sender;
    }

    /// @dev Takes the gross here and passes on all but the fee: a transfer costs less than a further use of the allowance.
    /// @param agreed whether the payer has fixed wallet, fee and deadline
    /// @param received whether the gross has arrived already
    function _settle(bytes32 key, Payment memory payment, address payer, bool agreed, bool received) private {
        if (paused) revert PaymentsPaused();
        uint256 rate = feeBps;
        if (payment.amount == 0) revert ZeroAmount();
        if (payment.consumerDidHash == bytes32(0)) revert ZeroHash();
        _requirePayer(payment.intentHash, payer);
        if (baseOf[payment.token] == 0) revert UnknownToken(payment.token);
        if (commitmentOf[key] != bytes32(0)) revert AlreadyPaid(key);
        Split memory split = _requireSplit(payment.providerDidHash, payment.token);
        if (agreed) {
            if (block.timestamp > payment.deadline) revert DeadlinePassed(payment.deadline);
            if (rate > payment.maxFeeBps) revert FeeTooHigh(rate, payment.maxFeeBps);
            if (split.operationalWallet != payment.operationalWallet) revert WalletDiffers(split.operationalWallet);
        }
        address vault = vaultOf(payment.providerDidHash);
        _requireWallet(payment.refundTo, vault);
        commitmentOf[key] = _commitmentTo(
            Settlement({
                key: key,
                providerDidHash: payment.providerDidHash,
                token: payment.token,
                gross: payment.amount.toUint96(),
                refundTo: payment.refundTo,
                settledAt: uint64(block.timestamp),
                paidOut: 0
            })
        );
        IERC20 token = IERC20(payment.token);
        if (!received) {
            uint256 before = token.balanceOf(address(this));
            token.safeTransferFrom(payer, address(this), payment.amount);
            _requireReceived(payment.token, before, payment.amount);
        }
        uint256 balance = token.balanceOf(vault);
        (uint256 fee, uint256 escrow, uint256 operational) = _partsOf(payment.amount, rate, split.threshold, balance);
        if (escrow > 0) token.safeTransfer(vault, escrow);
        token.safeTransfer(split.operationalWallet, operational);
        emit Settled(
            payment.providerDidHash,
            payment.consumerDidHash,
            payment.intentHash,
            payment.token,
            payer,
            payment.amount,
            fee,
            escrow,
            operational
        );
        emit SettlementRecorded(
            key, payment.providerDidHash, split.operationalWallet, payment.refundTo, balance + escrow
        );
    }

    /// @dev Without this check, the fees in this contract would pay if a token answers without moving anything, as one without EIP-3009 with a
    /// fallback function does, or keeps a part for itself.
    function _requireReceived(address token, uint256 before, uint256 amount) private view {
        uint256 held = IERC20(token).balanceOf(address(this));
        if (held < before + amount) revert AmountNotReceived(held, before + amount);
    }

    function _setRefundTo(Settlement calldata settlement, address refundTo) private {
        _requireSettlement(settlement);
        _requireWallet(refundTo, vaultOf(settlement.providerDidHash));
        Settlement memory after_ = settlement;
        after_.refundTo = refundTo;
        commitmentOf[settlement.key] = _commitmentTo(after_);
        emit RefundToSet(settlement.key, settlement.providerDidHash, refundTo);
    }

    /// @dev Fee and escrow are rounded down; the rest is the provider's.
    function _partsOf(uint256 gross, uint256 rate, uint256 threshold, uint256 balance)
        private
        pure
        returns (uint256 fee, uint256 escrow, uint256 operational)
    {
        fee = (gross * rate) / BPS;
        uint256 net = gross - fee;
        uint256 missing = threshold > balance ? threshold - balance : 0;
        escrow = (net * ESCROW_BPS) / BPS;
        if (escrow > missing) escrow = missing;
        operational = net - escrow;
    }

    function _commitmentTo(Settlement memory settlement) private pure returns (bytes32) {
        return keccak256(abi.encode(settlement));
    }

    function _requireSettlement(Settlement calldata settlement) private view {
        bytes32 commitment = commitmentOf[settlement.key];
        if (commitment == bytes32(0) || commitment != _commitmentTo(settlement)) revert UnknownSettlement(settlement.key);
    }

    function _requireSplit(bytes32 providerDidHash, address token) private view returns (Split memory split) {
        split = _splits[providerDidHash][token];
        if (split.operationalWallet == address(0)) revert UnknownProvider(providerDidHash, token);
    }

    function _requirePresent(bytes32 providerDidHash, address token, address operationalWallet) private view {
        address present = _requireSplit(providerDidHash, token).operationalWallet;
        if (present != operationalWallet) revert WalletDiffers(present);
    }

    function _requireThreshold(address token, uint256 threshold) private view {
        uint256 base = baseOf[token];
        if (base == 0) revert UnknownToken(token);
        uint256 least = (base + 1) / 2;
        if (threshold < least || threshold > base) revert InvalidThreshold(threshold, least, base);
    }

    function _setThreshold(bytes32 providerDidHash, address token, uint256 threshold) private {
        _splits[providerDidHash][token].threshold = threshold.toUint96();
        emit ThresholdSet(providerDidHash, token, threshold);
    }

    function _setWallet(bytes32 providerDidHash, address token, address operationalWallet) private {
        _requireWallet(operationalWallet, vaultOf(providerDidHash));
        _splits[providerDidHash][token].operationalWallet = operationalWallet;
        emit OperationalWalletSet(providerDidHash, token, operationalWallet);
    }

    /// @dev Without this check, any account could use up the key of an intent with a payment of the same amount.
    function _requirePayer(bytes32 intentHash, address payer) private pure {
        address named = address(uint160(uint256(intentHash)));
        if (uint256(intentHash) >> 255 == 1 && named != payer) revert PayerDiffers(named);
    }

    function _requireWallet(address wallet, address vault) private view {
        if (wallet == address(0)) revert ZeroAddress();
        // The intended receiver could never spend money that is sent to either.
        if (wallet == address(this) || wallet == vault) revert InvalidWallet(wallet);
    }

    function _setFeeRecipient(address newFeeRecipient) private {
        if (newFeeRecipient == address(0)) revert ZeroAddress();
        if (newFeeRecipient == address(this)) revert InvalidWallet(newFeeRecipient);
        feeRecipient = newFeeRecipient;
        emit FeeRecipientSet(newFeeRecipient);
    }

    function _listToken(address token, uint96 base) private {
        if (token.code.length == 0) revert UnknownToken(token);
        baseOf[token] = base;
        emit TokenListed(token, base);
    }
}
