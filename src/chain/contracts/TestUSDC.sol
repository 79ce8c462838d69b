// SPDX-License-Identifier: Apache-2.0
// A stand-in for USDC on test networks: 6 decimals, the EIP-712 domain of USDC on Base, EIP-3009 authorizations, and anyone
// may mint. Never deployed where money is real: there the configuration names the issuer's own token.
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

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

    /// @notice As USDC names it; clients read it to sign authorizations.
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @notice As USDC: the version of the EIP-712 domain.
    function version() external pure returns (string memory) {
        return "2";
    }
}
