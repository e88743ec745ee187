// Two runs side by side.
export const WhatIf = () => <div class="pane-empty" />;
