// What each model was shown and said.
export const TranscriptPane = () => <div class="pane-empty" />;
