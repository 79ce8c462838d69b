// SPDX-License-Identifier: Apache-2.0
// On-chain settlement (CHN-1 to CHN-7): takes a consumer's payment and splits it, in one
// transaction, into the fee, the provider's escrow and the provider's operational wallet. Between two transactions it holds
// no money: escrow stands in each provider's own vault.
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from
    "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IERC3009} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {EscrowVault} from "./EscrowVault.sol";

/// @title Settlement contract
/// @notice Three keys with separate powers. The registrar (hot) registers providers and sets thresholds and operational
/// wallets; it can't move a token. The arbiter pays out of a vault, to the payer of one settlement and at most its gross.
/// The admin (cold) sets the fee within a fixed maximum, the fee's recipient, the token list, pauses, and gives roles.
contract SettlementContract is AccessControlDefaultAdminRules, Pausable, ReentrancyGuard {
    using SafeERC20 for IERC20;
    using SafeCast for uint256;

    /// @notice Registers providers, sets thresholds and operational wallets.
    bytes32 public constant REGISTRAR_ROLE = keccak256("REGISTRAR_ROLE");
    /// @notice Pays out of a vault after a dispute.
    bytes32 public constant ARBITER_ROLE = keccak256("ARBITER_ROLE");

    uint256 public constant BPS = 10_000;
    /// @notice The fee can never be set above this: 0.5 %.
    uint256 public constant MAX_FEE_BPS = 50;
    /// @notice The part of the net that goes to escrow while the vault is below its threshold: 10 %.
    uint256 public constant ESCROW_BPS = 1_000;
    /// @notice Time between naming a new admin and its acceptance.
    uint48 public constant ADMIN_TRANSFER_DELAY = 1 days;

    struct Split {
        address operationalWallet;
        uint96 threshold;
    }

    struct Settlement {
        bytes32 providerDidHash;
        address token;
        uint96 gross;
        address payer;
        uint96 paidOut;
    }

    /// @notice The code that every vault is a clone of.
    address public immutable vaultImplementation;
    /// @notice Fee in hundredths of a percent of the gross.
    uint256 public feeBps = 5;
    address public feeRecipient;
    /// @notice Settlements so far; their ids are 1 to this number.
    uint256 public settlementCount;
    /// @notice Only listed tokens are taken: one that charges for its transfers would break the split.
    mapping(address token => bool) public tokenAllowed;

    mapping(bytes32 providerDidHash => mapping(address token => Split)) private _splits;
    mapping(uint256 settlementId => Settlement) private _settlements;

    /// @notice A payment was split. `intentHash` is zero for a payment through `pay`.
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
    /// @notice Numbers the settlement whose `Settled` is the log just before this one.
    event SettlementRecorded(
        uint256 indexed settlementId,
        bytes32 indexed providerDidHash,
        address indexed payer,
        address token,
        uint256 vaultBalance
    );
    event ProviderRegistered(
        bytes32 indexed providerDidHash, address indexed token, address vault, address operationalWallet, uint256 threshold
    );
    event ThresholdSet(bytes32 indexed providerDidHash, address indexed token, uint256 threshold);
    event OperationalWalletSet(bytes32 indexed providerDidHash, address indexed token, address operationalWallet);
    event EscrowDeposited(
        bytes32 indexed providerDidHash, address indexed token, address indexed from, uint256 amount, uint256 vaultBalance
    );
    event EscrowReleased(
        bytes32 indexed providerDidHash, address indexed token, address indexed to, uint256 amount, uint256 vaultBalance
    );
    event PaidOut(
        uint256 indexed settlementId,
        bytes32 indexed providerDidHash,
        address indexed payer,
        address token,
        uint256 amount,
        bytes32 reasonHash,
        uint256 vaultBalance
    );
    event FeeSet(uint256 feeBps);
    event FeeRecipientSet(address feeRecipient);
    event TokenAllowed(address indexed token, bool allowed);

    error ZeroAmount();
    error ZeroHash();
    error ZeroAddress();
    error UnknownToken(address token);
    error UnknownProvider(bytes32 providerDidHash, address token);
    error UnknownSettlement(uint256 settlementId);
    error ProviderExists(bytes32 providerDidHash, address token);
    error InvalidWallet(address wallet);
    error FeeTooHigh(uint256 feeBps, uint256 maximum);
    error ExceedsGross(uint256 amount, uint256 available);
    error ExceedsVault(uint256 amount, uint256 available);
    error ExceedsSurplus(uint256 amount, uint256 available);

    /// @param admin cold key
    /// @param registrar hot key
    /// @param arbiter key of the arbitration
    /// @param feeRecipient_ where fees go
    /// @param token the first token of the list
    constructor(address admin, address registrar, address arbiter, address feeRecipient_, address token)
        AccessControlDefaultAdminRules(ADMIN_TRANSFER_DELAY, admin)
    {
        if (registrar == address(0) || arbiter == address(0)) revert ZeroAddress();
        _grantRole(REGISTRAR_ROLE, registrar);
        _grantRole(ARBITER_ROLE, arbiter);
        vaultImplementation = address(new EscrowVault());
        _setFeeRecipient(feeRecipient_);
        _setTokenAllowed(token, true);
    }

    // ---- Payment -------------------------------------------------------------------------------------------------

    /// @notice Pays a provider out of the caller's allowance, without naming an intent.
    /// @param token a listed token
    /// @param amount gross, in base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @return settlementId the settlement's number
    function pay(address token, uint256 amount, bytes32 providerDidHash, bytes32 consumerDidHash)
        external
        returns (uint256 settlementId)
    {
        return _pay(token, amount, providerDidHash, consumerDidHash, bytes32(0));
    }

    /// @notice Pays a provider out of the caller's allowance, for one payment intent.
    /// @param token a listed token
    /// @param amount gross, in base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @param intentHash keccak256 of the intent's id
    /// @return settlementId the settlement's number
    function payIntent(
        address token,
        uint256 amount,
        bytes32 providerDidHash,
        bytes32 consumerDidHash,
        bytes32 intentHash
    ) external returns (uint256 settlementId) {
        if (intentHash == bytes32(0)) revert ZeroHash();
        return _pay(token, amount, providerDidHash, consumerDidHash, intentHash);
    }

    /// @notice Pays a provider by the payer's EIP-3009 authorization; anyone may submit it, `from` is the payer.
    /// @dev The authorization's nonce is computed here from what the payment is for, so whoever sees the signature can
    /// do nothing with it but this payment.
    /// @param token a listed token with `receiveWithAuthorization`
    /// @param from the payer, who signed
    /// @param amount gross, in base units
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param consumerDidHash keccak256 of the consumer's DID
    /// @param intentHash keccak256 of the intent's id
    /// @param salt any value of the payer's choice
    /// @param validAfter epoch seconds
    /// @param validBefore epoch seconds
    /// @return settlementId the settlement's number
    function payWithAuthorization(
        address token,
        address from,
        uint256 amount,
        bytes32 providerDidHash,
        bytes32 consumerDidHash,
        bytes32 intentHash,
        bytes32 salt,
        uint256 validAfter,
        uint256 validBefore,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external whenNotPaused nonReentrant returns (uint256 settlementId) {
        if (intentHash == bytes32(0)) revert ZeroHash();
        (uint256 fee, uint256 escrow, uint256 operational, address wallet) =
            _split(token, amount, providerDidHash, consumerDidHash);
        bytes32 nonce = keccak256(abi.encode(providerDidHash, consumerDidHash, intentHash, salt));
        IERC3009(token).receiveWithAuthorization(from, address(this), amount, validAfter, validBefore, nonce, v, r, s);
        if (fee > 0) IERC20(token).safeTransfer(feeRecipient, fee);
        if (escrow > 0) IERC20(token).safeTransfer(vaultOf(providerDidHash), escrow);
        IERC20(token).safeTransfer(wallet, operational);
        emit Settled(
            providerDidHash, consumerDidHash, intentHash, token, from, amount, fee, escrow, operational
        );
        return _record(providerDidHash, token, from, amount);
    }

    /// @notice Puts tokens of the caller's allowance into a provider's vault, without a payment.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token a listed token
    /// @param amount base units
    function depositEscrow(bytes32 providerDidHash, address token, uint256 amount) external whenNotPaused nonReentrant {
        if (amount == 0) revert ZeroAmount();
        if (!tokenAllowed[token]) revert UnknownToken(token);
        _requireSplit(providerDidHash, token);
        IERC20(token).safeTransferFrom(msg.sender, vaultOf(providerDidHash), amount);
        emit EscrowDeposited(providerDidHash, token, msg.sender, amount, escrowBalance(providerDidHash, token));
    }

    // ---- Registrar -----------------------------------------------------------------------------------------------

    /// @notice Registers a provider's split in one token and makes its vault if there is none. The same call again has
    /// no effect; other values for a registered provider are refused: they have their own setters.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token a listed token
    /// @param operationalWallet receives what is neither fee nor escrow
    /// @param threshold escrow is withheld until the vault holds this much, in base units
    function registerProvider(bytes32 providerDidHash, address token, address operationalWallet, uint256 threshold)
        external
        onlyRole(REGISTRAR_ROLE)
    {
        if (providerDidHash == bytes32(0)) revert ZeroHash();
        if (!tokenAllowed[token]) revert UnknownToken(token);
        address vault = vaultOf(providerDidHash);
        _requireWallet(operationalWallet, vault);
        Split storage split = _splits[providerDidHash][token];
        if (split.operationalWallet != address(0)) {
            if (split.operationalWallet == operationalWallet && split.threshold == threshold) return;
            revert ProviderExists(providerDidHash, token);
        }
        split.operationalWallet = operationalWallet;
        split.threshold = threshold.toUint96();
        if (vault.code.length == 0) Clones.cloneDeterministic(vaultImplementation, providerDidHash);
        emit ProviderRegistered(providerDidHash, token, vault, operationalWallet, threshold);
    }

    /// @notice Sets the balance up to which escrow is withheld. Funds already in the vault stay there.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param threshold base units
    function setThreshold(bytes32 providerDidHash, address token, uint256 threshold) external onlyRole(REGISTRAR_ROLE) {
        _requireSplit(providerDidHash, token).threshold = threshold.toUint96();
        emit ThresholdSet(providerDidHash, token, threshold);
    }

    /// @notice Sets where the operational part of later payments goes.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param operationalWallet the new wallet
    function setOperationalWallet(bytes32 providerDidHash, address token, address operationalWallet)
        external
        onlyRole(REGISTRAR_ROLE)
    {
        Split storage split = _requireSplit(providerDidHash, token);
        _requireWallet(operationalWallet, vaultOf(providerDidHash));
        split.operationalWallet = operationalWallet;
        emit OperationalWalletSet(providerDidHash, token, operationalWallet);
    }

    // ---- Arbiter -------------------------------------------------------------------------------------------------

    /// @notice Pays out of the provider's vault to the payer of one settlement: in its token, over all payouts at most
    /// its gross, and at most what the vault holds. Works while payments are paused and after a token was delisted.
    /// @param settlementId the settlement's number
    /// @param amount base units
    /// @param reasonHash names the award; kept in the event only
    function payOut(uint256 settlementId, uint256 amount, bytes32 reasonHash)
        external
        onlyRole(ARBITER_ROLE)
        nonReentrant
    {
        if (amount == 0) revert ZeroAmount();
        Settlement storage settlement = _settlements[settlementId];
        if (settlement.payer == address(0)) revert UnknownSettlement(settlementId);
        uint256 available = settlement.gross - settlement.paidOut;
        if (amount > available) revert ExceedsGross(amount, available);
        (bytes32 providerDidHash, address token, address payer) =
            (settlement.providerDidHash, settlement.token, settlement.payer);
        uint256 balance = escrowBalance(providerDidHash, token);
        if (amount > balance) revert ExceedsVault(amount, balance);
        settlement.paidOut += amount.toUint96();
        EscrowVault(vaultOf(providerDidHash)).release(IERC20(token), payer, amount);
        emit PaidOut(settlementId, providerDidHash, payer, token, amount, reasonHash, balance - amount);
    }

    // ---- Admin ---------------------------------------------------------------------------------------------------

    /// @notice Gives a provider escrow back that stands above its threshold, to its operational wallet.
    /// @dev The cold key's, not the registrar's: who can set thresholds and wallets must not be able to empty vaults.
    /// The wallet is named by the caller too, so a wallet changed in between makes the call fail.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the split's token
    /// @param operationalWallet the wallet that the caller has checked
    /// @param amount base units
    function releaseEscrow(bytes32 providerDidHash, address token, address operationalWallet, uint256 amount)
        external
        onlyRole(DEFAULT_ADMIN_ROLE)
        nonReentrant
    {
        if (amount == 0) revert ZeroAmount();
        Split storage split = _requireSplit(providerDidHash, token);
        if (split.operationalWallet != operationalWallet) revert InvalidWallet(operationalWallet);
        uint256 balance = escrowBalance(providerDidHash, token);
        uint256 surplus = balance > split.threshold ? balance - split.threshold : 0;
        if (amount > surplus) revert ExceedsSurplus(amount, surplus);
        EscrowVault(vaultOf(providerDidHash)).release(IERC20(token), operationalWallet, amount);
        emit EscrowReleased(providerDidHash, token, operationalWallet, amount, balance - amount);
    }

    /// @notice Sets the fee of later payments.
    /// @param newFeeBps hundredths of a percent, at most `MAX_FEE_BPS`
    function setFeeBps(uint256 newFeeBps) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (newFeeBps > MAX_FEE_BPS) revert FeeTooHigh(newFeeBps, MAX_FEE_BPS);
        feeBps = newFeeBps;
        emit FeeSet(newFeeBps);
    }

    /// @notice Sets where fees go.
    /// @param newFeeRecipient an address that is not this contract
    function setFeeRecipient(address newFeeRecipient) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _setFeeRecipient(newFeeRecipient);
    }

    /// @notice Puts a token on the list or takes it off. Only tokens that move exactly what they are told to belong there.
    /// @param token an ERC-20 token
    /// @param allowed whether it is taken
    function setTokenAllowed(address token, bool allowed) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _setTokenAllowed(token, allowed);
    }

    /// @notice Stops payments and deposits. The arbiter's payouts go on.
    function pause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _pause();
    }

    /// @notice Lets payments and deposits through again.
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    // ---- Views ---------------------------------------------------------------------------------------------------

    /// @notice The provider's vault; the address is the same before it exists.
    /// @param providerDidHash keccak256 of the provider's DID
    function vaultOf(bytes32 providerDidHash) public view returns (address) {
        return Clones.predictDeterministicAddress(vaultImplementation, providerDidHash);
    }

    /// @notice The provider's split in a token; the zero address where there is none.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    function splitOf(bytes32 providerDidHash, address token)
        external
        view
        returns (address operationalWallet, uint256 threshold)
    {
        Split storage split = _splits[providerDidHash][token];
        return (split.operationalWallet, split.threshold);
    }

    /// @notice What the provider's vault holds.
    /// @param providerDidHash keccak256 of the provider's DID
    /// @param token the token
    function escrowBalance(bytes32 providerDidHash, address token) public view returns (uint256) {
        return IERC20(token).balanceOf(vaultOf(providerDidHash));
    }

    /// @notice A recorded settlement.
    /// @param settlementId the settlement's number
    function settlementOf(uint256 settlementId) external view returns (Settlement memory) {
        Settlement memory settlement = _settlements[settlementId];
        if (settlement.payer == address(0)) revert UnknownSettlement(settlementId);
        return settlement;
    }

    /// @notice How a payment made now would be split. The parts always add up to `amount`.
    /// @param token a listed token
    /// @param amount gross, in base units
    /// @param providerDidHash keccak256 of the provider's DID
    function quote(address token, uint256 amount, bytes32 providerDidHash)
        public
        view
        returns (uint256 fee, uint256 escrow, uint256 operational)
    {
        if (amount == 0) revert ZeroAmount();
        if (!tokenAllowed[token]) revert UnknownToken(token);
        Split storage split = _requireSplit(providerDidHash, token);
        fee = (amount * feeBps) / BPS;
        uint256 net = amount - fee;
        uint256 balance = escrowBalance(providerDidHash, token);
        uint256 missing = split.threshold > balance ? split.threshold - balance : 0;
        escrow = (net * ESCROW_BPS) / BPS;
        if (escrow > missing) escrow = missing;
        operational = net - escrow;
    }

    // ---- Inside --------------------------------------------------------------------------------------------------

    function _pay(
        address token,
        uint256 amount,
        bytes32 providerDidHash,
        bytes32 consumerDidHash,
        bytes32 intentHash
    ) private whenNotPaused nonReentrant returns (uint256 settlementId) {
        (uint256 fee, uint256 escrow, uint256 operational, address wallet) =
            _split(token, amount, providerDidHash, consumerDidHash);
        // Straight from the payer to the three receivers: nothing passes through this contract.
        if (fee > 0) IERC20(token).safeTransferFrom(msg.sender, feeRecipient, fee);
        if (escrow > 0) IERC20(token).safeTransferFrom(msg.sender, vaultOf(providerDidHash), escrow);
        IERC20(token).safeTransferFrom(msg.sender, wallet, operational);
        emit Settled(
            providerDidHash, consumerDidHash, intentHash, token, msg.sender, amount, fee, escrow, operational
        );
        return _record(providerDidHash, token, msg.sender, amount);
    }

    function _split(address token, uint256 amount, bytes32 providerDidHash, bytes32 consumerDidHash)
        private
        view
        returns (uint256 fee, uint256 escrow, uint256 operational, address wallet)
    {
        if (providerDidHash == bytes32(0) || consumerDidHash == bytes32(0)) revert ZeroHash();
        (fee, escrow, operational) = quote(token, amount, providerDidHash);
        wallet = _splits[providerDidHash][token].operationalWallet;
    }

    function _record(bytes32 providerDidHash, address token, address payer, uint256 gross)
        private
        returns (uint256 settlementId)
    {
        settlementId = ++settlementCount;
        _settlements[settlementId] = Settlement({
            providerDidHash: providerDidHash,
            token: token,
            gross: gross.toUint96(),
            payer: payer,
            paidOut: 0
        });
        emit SettlementRecorded(settlementId, providerDidHash, payer, token, escrowBalance(providerDidHash, token));
    }

    function _requireSplit(bytes32 providerDidHash, address token) private view returns (Split storage split) {
        split = _splits[providerDidHash][token];
        if (split.operationalWallet == address(0)) revert UnknownProvider(providerDidHash, token);
    }

    function _requireWallet(address wallet, address vault) private view {
        if (wallet == address(0)) revert ZeroAddress();
        // Money sent to either could never be spent by the provider.
        if (wallet == address(this) || wallet == vault) revert InvalidWallet(wallet);
    }

    function _setFeeRecipient(address newFeeRecipient) private {
        if (newFeeRecipient == address(0)) revert ZeroAddress();
        if (newFeeRecipient == address(this)) revert InvalidWallet(newFeeRecipient);
        feeRecipient = newFeeRecipient;
        emit FeeRecipientSet(newFeeRecipient);
    }

    function _setTokenAllowed(address token, bool allowed) private {
        if (token == address(0)) revert ZeroAddress();
        if (allowed && token.code.length == 0) revert UnknownToken(token);
        tokenAllowed[token] = allowed;
        emit TokenAllowed(token, allowed);
    }
}
