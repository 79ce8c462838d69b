// SPDX-License-Identifier: Apache-2.0
// One provider's segregated escrow (CHN-3). Every provider has its own minimal clone of
// this code. It holds no key and no setting: only the settlement contract that made it can move what is in it.
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract EscrowVault {
    using SafeERC20 for IERC20;

    /// @notice The only caller that can move funds. It stands in the code itself, so a clone can neither lose nor change it.
    address public immutable settlementContract;

    /// @notice The caller is not the settlement contract.
    error NotSettlementContract();

    /// @dev Deployed once, by the settlement contract; the clones share this code and so its immutable.
    constructor() {
        settlementContract = msg.sender;
    }

    /// @notice Moves tokens out of the vault. To whom and how much is decided by the settlement contract alone.
    /// @dev Errors: `NotSettlementContract`.
    /// @param token the ERC-20 token
    /// @param to the receiver
    /// @param amount base units
    function release(IERC20 token, address to, uint256 amount) external {
        if (msg.sender != settlementContract) revert NotSettlementContract();
        token.safeTransfer(to, amount);
    }
}
