page => {
  const tables = [...page.querySelectorAll("table")];
  const folded = tables.filter(table => !table.checkVisibility()).length;
  page.querySelectorAll("summary").forEach(summary => summary.click());
  return {
    folded, tables: tables.filter(e => e.checkVisibility() && e.offsetHeight > 0).length,
    stuck: tables.filter(table => {
      const box = table.parentElement;
      return box.offsetWidth > page.body.clientWidth ||
        table.offsetWidth > box.clientWidth && getComputedStyle(box).overflowX !== "auto";
    }).length,
  };
}
