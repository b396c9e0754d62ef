/* fuzz_records.c - libFuzzer target: any bytes as a file of records, and whatever is read as every form of a report. */
#include <stdint.h>
#include <stdlib.h>

#include "report/report.h"

/* A page holds the records that it was made of. */
static int reads_back(char *page, size_t size, int count)
{
    records again = {0};
    char error[600];
    FILE *stream = fmemopen(page, size, "r");
    int same = stream != NULL && records_read_stream(stream, "PAGE", &again, error, sizeof error) == RECORDS_OK &&
               again.count == count;
    if (stream != NULL) fclose(stream);
    records_free(&again);
    return same;
}

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
        tw_status written = report_write(out, &all, (report_form)form, error, sizeof error);
        fclose(out);
        if (form == REPORT_PAGE && written == TW_OK && !reads_back(page, size, all.count)) abort();
        free(page);
    }
    records_free(&all);
    return 0;
}
