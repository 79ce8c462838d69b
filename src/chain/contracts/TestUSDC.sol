// SPDX-License-Identifier: Apache-2.0
// A stand-in for USDC on test networks: 6 decimals, the EIP-712 domain of USDC on Base, EIP-3009 authorizations, and anyone
// may mint. Never deployed where money is real: there the configuration names the issuer's own token.
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

contract TestUSDC is ERC3009 {
    constructor() ERC20("USD Coin", "USDC") EIP712("USD Coin", "2") {}

    /// @notice As USDC: one unit is 1,000,000 base units.
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice Makes test money for anyone who asks.
    /// @param to the receiver
    /// @param amount base units
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @notice As USDC 2.2: an authorization that may be signed by a smart wallet (ERC-1271) too. Only the receiver can submit it.
    /// @param from the payer, who signed
    /// @param to the receiver
    /// @param value base units
    /// @param validAfter epoch seconds
    /// @param validBefore epoch seconds
    /// @param nonce used once
    /// @param signature of an account, or of a smart wallet
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        bytes32 digest = _hashTypedDataV4(
            keccak256(abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce))
        );
        if (!SignatureChecker.isValidSignatureNowCalldata(from, digest, signature)) revert ERC3009InvalidSignature();
        if (to != _msgSender()) revert ERC20InvalidReceiver(to);
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    /// @notice As USDC names it; clients read it to sign authorizations.
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @notice As USDC: the version of the EIP-712 domain.
    function version() external pure returns (string memory) {
        return "2";
    }
}
