// The button that opens a recording, for the views that can show one.
import { Icon } from "../../ui/icons";
import { complain } from "../../ui/toasts";
import { openRecording, recording } from "./recording";

export function OpenRecording({ opened }: { opened?: () => void }) {
  const file = recording.value;
  return (
    <>
      <label class="button quiet file-button" title="Open a recording of keyloom doctor --save">
        <Icon name="upload" size={14} />
        Open
        <input
          type="file"
          accept=".json,application/json"
          class="hidden"
          aria-label="Open a recording"
          onChange={(event) => {
            const chosen = event.currentTarget.files?.[0];
            if (chosen) openRecording(chosen).then(() => opened?.(), complain);
            event.currentTarget.value = "";
          }}
        />
      </label>
      {file && (
        <span class="badge info">
          {file.name}
          <button
            type="button"
            class="link"
            aria-label="Close the recording"
            onClick={() => (recording.value = null)}
          >
            ✕
          </button>
        </span>
      )}
    </>
  );
}
