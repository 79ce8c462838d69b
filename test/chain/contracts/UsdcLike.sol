// SPDX-License-Identifier: Apache-2.0
// A token as USDC 2.2 is on Base, for gas and for what a settlement has to bear: behind a proxy that looks at its admin's slot, the blacklist in
// the top bit of the balance, a pause, allowances that always go down, and EIP-3009 with signatures of smart wallets.
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

contract UsdcLike is EIP712 {
    uint256 private constant BLACKLISTED = 1 << 255;
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant RECEIVE = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    bool public paused;
    uint256 public totalSupply;
    mapping(address account => uint256) private _balances;
    mapping(address owner => mapping(address spender => uint256)) public allowance;
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    constructor() EIP712("USD Coin", "2") {}

    modifier usable(address a, address b, address c) {
        require(!paused, "Pausable: paused");
        require((_balances[a] | _balances[b] | _balances[c]) & BLACKLISTED == 0, "Blacklistable: account is blacklisted");
        _;
    }

    function decimals() external pure virtual returns (uint8) {
        return 6;
    }

    function balanceOf(address account) public view returns (uint256) {
        return _balances[account] & ~BLACKLISTED;
    }

    function mint(address to, uint256 amount) external {
        totalSupply += amount;
        _balances[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function setPaused(bool to) external {
        paused = to;
    }

    function setBlacklisted(address account, bool to) external {
        _balances[account] = to ? _balances[account] | BLACKLISTED : balanceOf(account);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external usable(msg.sender, to, to) returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external usable(msg.sender, from, to) returns (bool) {
        require(amount <= allowance[from][msg.sender], "ERC20: transfer amount exceeds allowance");
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        return true;
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external virtual usable(from, to, to) {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        _useAuthorization(RECEIVE, from, to, value, validAfter, validBefore, nonce, signature);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external usable(from, to, to) {
        _useAuthorization(TRANSFER, from, to, value, validAfter, validBefore, nonce, signature);
    }

    function _useAuthorization(
        bytes32 typeHash,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) private {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!authorizationState[from][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 digest =
            _hashTypedDataV4(keccak256(abi.encode(typeHash, from, to, value, validAfter, validBefore, nonce)));
        require(SignatureChecker.isValidSignatureNow(from, digest, signature), "FiatTokenV2: invalid signature");
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 amount) internal virtual {
        require(amount <= balanceOf(from), "ERC20: transfer amount exceeds balance");
        _balances[from] -= amount;
        _balances[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// @dev Without EIP-3009, with a fallback that takes every call and moves nothing.
contract SwallowingToken is UsdcLike {
    function receiveWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes calldata)
        external
        pure
        override
    {}
}

/// @dev Keeps a hundredth of each transfer.
contract TakingToken is UsdcLike {
    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount - amount / 100);
        if (amount >= 100) super._move(from, address(this), amount / 100);
    }
}

/// @dev As many base units in one unit as ether has.
contract LongToken is UsdcLike {
    function decimals() external pure override returns (uint8) {
        return 18;
    }
}

/// @dev A token of another currency, which has other decimals.
contract EurcLike is UsdcLike {
    function decimals() external pure override returns (uint8) {
        return 8;
    }
}

/// @dev As USDC's: whoever is not the admin is passed on, so the admin's slot is read at each call.
contract UsdcProxy {
    bytes32 private constant ADMIN = keccak256("org.zeppelinos.proxy.admin");
    bytes32 private constant IMPLEMENTATION = keccak256("org.zeppelinos.proxy.implementation");

    constructor(address implementation, address admin) {
        (bytes32 adminSlot, bytes32 implementationSlot) = (ADMIN, IMPLEMENTATION);
        assembly {
            sstore(adminSlot, admin)
            sstore(implementationSlot, implementation)
        }
    }

    fallback() external payable {
        (bytes32 adminSlot, bytes32 implementationSlot) = (ADMIN, IMPLEMENTATION);
        assembly {
            if eq(caller(), sload(adminSlot)) { revert(0, 0) }
            let implementation := sload(implementationSlot)
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), implementation, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(done) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}

/// @dev A listed token that calls back in the middle of each transfer, as its owner has set.
contract ReentrantToken is UsdcLike {
    address public target;
    bytes public call;
    bool public succeeded;
    bool private _inside;

    function callBack(address target_, bytes calldata call_) external {
        (target, call) = (target_, call_);
        succeeded = false;
    }

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        if (target == address(0) || _inside) return;
        _inside = true;
        (bool done,) = target.call(call);
        succeeded = succeeded || done;
        _inside = false;
    }
}

/// @dev A smart wallet whose owner signs for it (ERC-1271).
contract SmartWallet {
    address private immutable _owner;

    constructor(address owner) {
        _owner = owner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return SignatureChecker.isValidSignatureNow(_owner, hash, signature) ? this.isValidSignature.selector : bytes4(0);
    }

    function run(address target, bytes calldata data) external returns (bytes memory) {
        require(msg.sender == _owner, "not the owner");
        (bool done, bytes memory answer) = target.call(data);
        require(done, "the call failed");
        return answer;
    }
}
