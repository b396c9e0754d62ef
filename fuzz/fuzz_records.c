/* fuzz_records.c - libFuzzer target: any bytes as a file of records, and whatever is read as every form of a report. */
#include <stdint.h>
#include <stdlib.h>

#include "report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    records all = {0};
    char error[600] = "";
    FILE *stream = count > 0 ? fmemopen((void *)(uintptr_t)bytes, count, "r") : NULL;
    if (stream == NULL) return 0;
    records_status status = records_read_stream(stream, "FILE", &all, error, sizeof error);
    fclose(stream);
    if ((status == RECORDS_OK) != (error[0] == '\0')) abort(); /* each refusal has its sentence */
    for (int form = REPORT_PAGE; all.count > 0 && form <= REPORT_TABLE; form++) {
        if (form == REPORT_PAGE && count % 16 != 0) continue; /* pages take a hundred times as long */
        char *page = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&page, &size);
        if (out == NULL) break;
        report_write(out, &all, (report_form)form, error, sizeof error);
        fclose(out);
        if (size > REPORT_BYTES) abort();
        free(page);
    }
    records_free(&all);
    return 0;
}
