from libc.stdint cimport int32_t, int64_t

from aeronpy._core.c_client cimport apy_fragment_assembler_t, apy_image_reader_t
from aeronpy.native_api cimport aeronpy_api_t


cdef extern from "apy/native_api.h" nogil:
    ctypedef struct apy_image_set_t:
        apy_image_reader_t **readers
        int count
    ctypedef struct apy_native_subscription_t:
        int32_t error
    void apy_native_subscription_init(apy_native_subscription_t *subscription, const apy_image_set_t *images,
                                      int32_t *is_busy, const int32_t *image_polls,
                                      apy_fragment_assembler_t *assembler)
    int64_t apy_native_subscription_set(apy_native_subscription_t *subscription, const apy_image_set_t *images)
    bint apy_native_subscription_is_past(const apy_native_subscription_t *subscription, int64_t turn)
    void apy_native_subscription_close(apy_native_subscription_t *subscription)
    const aeronpy_api_t *apy_native_api()
