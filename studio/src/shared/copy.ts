/** Puts text on the clipboard, also where the modern way is closed because the address is not secure. */
export async function copy(content: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(content);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = content;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}
