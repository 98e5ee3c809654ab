// HDF5: files, and what is in them. All handles are of one type, since any of them can
// stand where a location is wanted. H5Dopen, H5Gcreate and so on are macros for the
// functions with a number.
//layer hdf5 "libhdf5.so*" "libhdf5_serial.so*" "libhdf5_mpich.so*" "libhdf5_openmpi.so*"
#include <hdf5.h>

// The ids that the library makes when it is loaded, and what H5T_NATIVE_INT and
// H5P_DATASET_CREATE stand for.
//global hid hid_t H5P_CLS_ROOT_ID_g H5P_CLS_OBJECT_CREATE_ID_g H5P_CLS_FILE_CREATE_ID_g H5P_CLS_FILE_ACCESS_ID_g H5P_CLS_DATASET_CREATE_ID_g H5P_CLS_DATASET_ACCESS_ID_g
//global hid hid_t H5P_CLS_DATASET_XFER_ID_g H5P_CLS_FILE_MOUNT_ID_g H5P_CLS_GROUP_CREATE_ID_g H5P_CLS_GROUP_ACCESS_ID_g H5P_CLS_DATATYPE_CREATE_ID_g
//global hid hid_t H5P_CLS_DATATYPE_ACCESS_ID_g H5P_CLS_STRING_CREATE_ID_g H5P_CLS_ATTRIBUTE_CREATE_ID_g H5P_CLS_ATTRIBUTE_ACCESS_ID_g H5P_CLS_OBJECT_COPY_ID_g
//global hid hid_t H5P_CLS_LINK_CREATE_ID_g H5P_CLS_LINK_ACCESS_ID_g H5P_LST_FILE_CREATE_ID_g H5P_LST_FILE_ACCESS_ID_g H5P_LST_DATASET_CREATE_ID_g
//global hid hid_t H5P_LST_DATASET_ACCESS_ID_g H5P_LST_DATASET_XFER_ID_g H5P_LST_FILE_MOUNT_ID_g H5P_LST_GROUP_CREATE_ID_g H5P_LST_GROUP_ACCESS_ID_g
//global hid hid_t H5P_LST_DATATYPE_CREATE_ID_g H5P_LST_DATATYPE_ACCESS_ID_g H5P_LST_ATTRIBUTE_CREATE_ID_g H5P_LST_ATTRIBUTE_ACCESS_ID_g H5P_LST_OBJECT_COPY_ID_g
//global hid hid_t H5P_LST_LINK_CREATE_ID_g H5P_LST_LINK_ACCESS_ID_g H5T_IEEE_F32BE_g H5T_IEEE_F32LE_g H5T_IEEE_F64BE_g H5T_IEEE_F64LE_g H5T_STD_I8BE_g H5T_STD_I8LE_g
//global hid hid_t H5T_STD_I16BE_g H5T_STD_I16LE_g H5T_STD_I32BE_g H5T_STD_I32LE_g H5T_STD_I64BE_g H5T_STD_I64LE_g H5T_STD_U8BE_g H5T_STD_U8LE_g H5T_STD_U16BE_g
//global hid hid_t H5T_STD_U16LE_g H5T_STD_U32BE_g H5T_STD_U32LE_g H5T_STD_U64BE_g H5T_STD_U64LE_g H5T_STD_B8BE_g H5T_STD_B8LE_g H5T_STD_B16BE_g H5T_STD_B16LE_g
//global hid hid_t H5T_STD_B32BE_g H5T_STD_B32LE_g H5T_STD_B64BE_g H5T_STD_B64LE_g H5T_STD_REF_OBJ_g H5T_STD_REF_DSETREG_g H5T_UNIX_D32BE_g H5T_UNIX_D32LE_g
//global hid hid_t H5T_UNIX_D64BE_g H5T_UNIX_D64LE_g H5T_C_S1_g H5T_FORTRAN_S1_g H5T_VAX_F32_g H5T_VAX_F64_g H5T_NATIVE_SCHAR_g H5T_NATIVE_UCHAR_g H5T_NATIVE_SHORT_g
//global hid hid_t H5T_NATIVE_USHORT_g H5T_NATIVE_INT_g H5T_NATIVE_UINT_g H5T_NATIVE_LONG_g H5T_NATIVE_ULONG_g H5T_NATIVE_LLONG_g H5T_NATIVE_ULLONG_g H5T_NATIVE_FLOAT_g
//global hid hid_t H5T_NATIVE_DOUBLE_g H5T_NATIVE_LDOUBLE_g H5T_NATIVE_B8_g H5T_NATIVE_B16_g H5T_NATIVE_B32_g H5T_NATIVE_B64_g H5T_NATIVE_OPAQUE_g H5T_NATIVE_HADDR_g
//global hid hid_t H5T_NATIVE_HSIZE_g H5T_NATIVE_HSSIZE_g H5T_NATIVE_HERR_g H5T_NATIVE_HBOOL_g H5T_NATIVE_INT8_g H5T_NATIVE_UINT8_g H5T_NATIVE_INT_LEAST8_g
//global hid hid_t H5T_NATIVE_UINT_LEAST8_g H5T_NATIVE_INT_FAST8_g H5T_NATIVE_UINT_FAST8_g H5T_NATIVE_INT16_g H5T_NATIVE_UINT16_g H5T_NATIVE_INT_LEAST16_g
//global hid hid_t H5T_NATIVE_UINT_LEAST16_g H5T_NATIVE_INT_FAST16_g H5T_NATIVE_UINT_FAST16_g H5T_NATIVE_INT32_g H5T_NATIVE_UINT32_g H5T_NATIVE_INT_LEAST32_g
//global hid hid_t H5T_NATIVE_UINT_LEAST32_g H5T_NATIVE_INT_FAST32_g H5T_NATIVE_UINT_FAST32_g H5T_NATIVE_INT64_g H5T_NATIVE_UINT64_g H5T_NATIVE_INT_LEAST64_g
//global hid hid_t H5T_NATIVE_UINT_LEAST64_g H5T_NATIVE_INT_FAST64_g H5T_NATIVE_UINT_FAST64_g

// The player also needs C of its own.
//support "hdf5.c"

// Files.
hid_t H5Fcreate(const char *filename, unsigned flags, hid_t fcpl_id, hid_t fapl_id); //span open //path filename //map hid fcpl_id //map hid fapl_id //define hid result //error result < 0
hid_t H5Fopen(const char *filename, unsigned flags, hid_t fapl_id); //span open //path filename //map hid fapl_id //define hid result //error result < 0
hid_t H5Freopen(hid_t file_id); //span open //map hid file_id //define hid result //error result < 0
herr_t H5Fflush(hid_t object_id, H5F_scope_t scope); //span sync //map hid object_id //error result < 0
herr_t H5Fclose(hid_t file_id); //span close //undefine hid file_id //error result < 0
htri_t H5Fis_hdf5(const char *filename); //span metadata //path filename //error result < 0
herr_t H5Fget_filesize(hid_t file_id, hsize_t *size); //span metadata //map hid file_id //error result < 0
ssize_t H5Fget_obj_count(hid_t file_id, unsigned types); //span metadata //map hid file_id //error result < 0
ssize_t H5Fget_name(hid_t obj_id, char *name, size_t size); //span metadata //map hid obj_id //error result < 0
//pass name room(size)
ssize_t H5Fget_file_image(hid_t file_id, void *buf_ptr, size_t buf_len); //span read //map hid file_id //error result < 0
//pass buf_ptr room(buf_len)
herr_t H5Fstart_swmr_write(hid_t file_id); //span metadata //map hid file_id //error result < 0
herr_t H5Fmount(hid_t loc, const char *name, hid_t child, hid_t plist); //span metadata //name name //map hid loc //map hid child //map hid plist //error result < 0
herr_t H5Funmount(hid_t loc, const char *name); //span metadata //name name //map hid loc //error result < 0

// Groups.
hid_t H5Gcreate1(hid_t loc_id, const char *name, size_t size_hint); //span open //name name //map hid loc_id //define hid result //error result < 0
hid_t H5Gcreate2(hid_t loc_id, const char *name, hid_t lcpl_id, hid_t gcpl_id, hid_t gapl_id); //span open //name name //map hid loc_id //map hid lcpl_id //map hid gcpl_id //map hid gapl_id //define hid result //error result < 0
hid_t H5Gcreate_anon(hid_t loc_id, hid_t gcpl_id, hid_t gapl_id); //span open //map hid loc_id //map hid gcpl_id //map hid gapl_id //define hid result //error result < 0
hid_t H5Gopen1(hid_t loc_id, const char *name); //span open //name name //map hid loc_id //define hid result //error result < 0
hid_t H5Gopen2(hid_t loc_id, const char *name, hid_t gapl_id); //span open //name name //map hid loc_id //map hid gapl_id //define hid result //error result < 0
herr_t H5Gclose(hid_t group_id); //span close //undefine hid group_id //error result < 0
herr_t H5Gget_info(hid_t loc_id, H5G_info_t *ginfo); //span metadata //map hid loc_id //error result < 0
herr_t H5Gget_info_by_name(hid_t loc_id, const char *name, H5G_info_t *ginfo, hid_t lapl_id); //span metadata //name name //map hid loc_id //map hid lapl_id //error result < 0
herr_t H5Gflush(hid_t group_id); //span sync //map hid group_id //error result < 0
herr_t H5Grefresh(hid_t group_id); //span metadata //map hid group_id //error result < 0

// Datasets.
hid_t H5Dcreate1(hid_t loc_id, const char *name, hid_t type_id, hid_t space_id, hid_t dcpl_id); //span open //name name //map hid loc_id //map hid type_id //map hid space_id //map hid dcpl_id //define hid result //error result < 0
hid_t H5Dcreate2(hid_t loc_id, const char *name, hid_t type_id, hid_t space_id, hid_t lcpl_id, hid_t dcpl_id, hid_t dapl_id); //span open //name name //map hid loc_id //map hid type_id //map hid space_id //map hid lcpl_id //map hid dcpl_id //map hid dapl_id //define hid result //error result < 0
hid_t H5Dcreate_anon(hid_t loc_id, hid_t type_id, hid_t space_id, hid_t dcpl_id, hid_t dapl_id); //span open //map hid loc_id //map hid type_id //map hid space_id //map hid dcpl_id //map hid dapl_id //define hid result //error result < 0
hid_t H5Dopen1(hid_t loc_id, const char *name); //span open //name name //map hid loc_id //define hid result //error result < 0
hid_t H5Dopen2(hid_t loc_id, const char *name, hid_t dapl_id); //span open //name name //map hid loc_id //map hid dapl_id //define hid result //error result < 0
herr_t H5Dwrite(hid_t dset_id, hid_t mem_type_id, hid_t mem_space_id, hid_t file_space_id, hid_t dxpl_id, const void *buf); //span write //map hid dset_id //map hid mem_type_id //map hid mem_space_id //map hid file_space_id //map hid dxpl_id //error result < 0
//pass buf values(elements(dset_id, mem_space_id) * H5Tget_size(mem_type_id), mem_type_id)
herr_t H5Dread(hid_t dset_id, hid_t mem_type_id, hid_t mem_space_id, hid_t file_space_id, hid_t dxpl_id, void *buf); //span read //map hid dset_id //map hid mem_type_id //map hid mem_space_id //map hid file_space_id //map hid dxpl_id //error result < 0
//pass buf room(elements(dset_id, mem_space_id) * H5Tget_size(mem_type_id))
herr_t H5Dwrite_chunk(hid_t dset_id, hid_t dxpl_id, uint32_t filters, const hsize_t *offset, size_t data_size, const void *buf); //span write //map hid dset_id //map hid dxpl_id //error result < 0
//array offset 6 //pass buf data(data_size)
herr_t H5Dread_chunk(hid_t dset_id, hid_t dxpl_id, const hsize_t *offset, uint32_t *filters, void *buf); //span read //map hid dset_id //map hid dxpl_id //error result < 0
//array offset 6 //pass buf room(chunk_size(dset_id, offset))
herr_t H5Dset_extent(hid_t dset_id, const hsize_t size[]); //span metadata //map hid dset_id //error result < 0
//array size 6
hid_t H5Dget_space(hid_t dset_id); //span metadata //map hid dset_id //define hid result //error result < 0
hid_t H5Dget_type(hid_t dset_id); //span metadata //map hid dset_id //define hid result //error result < 0
hid_t H5Dget_create_plist(hid_t dset_id); //span metadata //map hid dset_id //define hid result //error result < 0
hsize_t H5Dget_storage_size(hid_t dset_id); //span metadata //map hid dset_id //error result < 0
herr_t H5Dget_space_status(hid_t dset_id, H5D_space_status_t *allocation); //span metadata //map hid dset_id //error result < 0
herr_t H5Dflush(hid_t dset_id); //span sync //map hid dset_id //error result < 0
herr_t H5Drefresh(hid_t dset_id); //span metadata //map hid dset_id //error result < 0
herr_t H5Dclose(hid_t dset_id); //span close //undefine hid dset_id //error result < 0

// Attributes.
hid_t H5Acreate1(hid_t loc_id, const char *name, hid_t type_id, hid_t space_id, hid_t acpl_id); //span open //name name //map hid loc_id //map hid type_id //map hid space_id //map hid acpl_id //define hid result //error result < 0
hid_t H5Acreate2(hid_t loc_id, const char *attr_name, hid_t type_id, hid_t space_id, hid_t acpl_id, hid_t aapl_id); //span open //name attr_name //map hid loc_id //map hid type_id //map hid space_id //map hid acpl_id //map hid aapl_id //define hid result //error result < 0
hid_t H5Acreate_by_name(hid_t loc_id, const char *obj_name, const char *attr_name, hid_t type_id, hid_t space_id, hid_t acpl_id, hid_t aapl_id, hid_t lapl_id); //span open //name obj_name attr_name //map hid loc_id //map hid type_id //map hid space_id //map hid acpl_id //map hid aapl_id //map hid lapl_id //define hid result //error result < 0
hid_t H5Aopen(hid_t obj_id, const char *attr_name, hid_t aapl_id); //span open //name attr_name //map hid obj_id //map hid aapl_id //define hid result //error result < 0
hid_t H5Aopen_by_name(hid_t loc_id, const char *obj_name, const char *attr_name, hid_t aapl_id, hid_t lapl_id); //span open //name obj_name attr_name //map hid loc_id //map hid aapl_id //map hid lapl_id //define hid result //error result < 0
hid_t H5Aopen_by_idx(hid_t loc_id, const char *obj_name, H5_index_t idx_type, H5_iter_order_t order, hsize_t n, hid_t aapl_id, hid_t lapl_id); //span open //name obj_name //map hid loc_id //map hid aapl_id //map hid lapl_id //define hid result //error result < 0
hid_t H5Aopen_name(hid_t loc_id, const char *name); //span open //name name //map hid loc_id //define hid result //error result < 0
hid_t H5Aopen_idx(hid_t loc_id, unsigned idx); //span open //map hid loc_id //define hid result //error result < 0
herr_t H5Awrite(hid_t attr_id, hid_t type_id, const void *buf); //span write //map hid attr_id //map hid type_id //error result < 0
//pass buf values(elements_of_attribute(attr_id) * H5Tget_size(type_id), type_id)
herr_t H5Aread(hid_t attr_id, hid_t type_id, void *buf); //span read //map hid attr_id //map hid type_id //error result < 0
//pass buf room(elements_of_attribute(attr_id) * H5Tget_size(type_id))
herr_t H5Aclose(hid_t attr_id); //span close //undefine hid attr_id //error result < 0
htri_t H5Aexists(hid_t obj_id, const char *attr_name); //span metadata //name attr_name //map hid obj_id //error result < 0
htri_t H5Aexists_by_name(hid_t obj_id, const char *obj_name, const char *attr_name, hid_t lapl_id); //span metadata //name obj_name attr_name //map hid obj_id //map hid lapl_id //error result < 0
herr_t H5Adelete(hid_t loc_id, const char *attr_name); //span metadata //name attr_name //map hid loc_id //error result < 0
herr_t H5Arename(hid_t loc_id, const char *old_name, const char *new_name); //span metadata //name old_name new_name //map hid loc_id //error result < 0
hid_t H5Aget_space(hid_t attr_id); //span metadata //map hid attr_id //define hid result //error result < 0
hid_t H5Aget_type(hid_t attr_id); //span metadata //map hid attr_id //define hid result //error result < 0
herr_t H5Aiterate2(hid_t loc_id, H5_index_t idx_type, H5_iter_order_t order, hsize_t *idx, H5A_operator2_t op, void *op_data); //span metadata //map hid loc_id //error result < 0
//pass op visit_attribute //pass op_data NULL

// Links and objects.
herr_t H5Lcreate_hard(hid_t cur_loc, const char *cur_name, hid_t dst_loc, const char *dst_name, hid_t lcpl_id, hid_t lapl_id); //span metadata //name cur_name dst_name //map hid cur_loc //map hid dst_loc //map hid lcpl_id //map hid lapl_id //error result < 0
herr_t H5Lcreate_soft(const char *link_target, hid_t link_loc_id, const char *link_name, hid_t lcpl_id, hid_t lapl_id); //span metadata //name link_target link_name //map hid link_loc_id //map hid lcpl_id //map hid lapl_id //error result < 0
herr_t H5Lcreate_external(const char *file_name, const char *obj_name, hid_t link_loc_id, const char *link_name, hid_t lcpl_id, hid_t lapl_id); //span metadata //path file_name //name obj_name link_name //map hid link_loc_id //map hid lcpl_id //map hid lapl_id //error result < 0
herr_t H5Lmove(hid_t src_loc, const char *src_name, hid_t dst_loc, const char *dst_name, hid_t lcpl_id, hid_t lapl_id); //span metadata //name src_name dst_name //map hid src_loc //map hid dst_loc //map hid lcpl_id //map hid lapl_id //error result < 0
herr_t H5Lcopy(hid_t src_loc, const char *src_name, hid_t dst_loc, const char *dst_name, hid_t lcpl_id, hid_t lapl_id); //span metadata //name src_name dst_name //map hid src_loc //map hid dst_loc //map hid lcpl_id //map hid lapl_id //error result < 0
herr_t H5Ldelete(hid_t loc_id, const char *name, hid_t lapl_id); //span metadata //name name //map hid loc_id //map hid lapl_id //error result < 0
htri_t H5Lexists(hid_t loc_id, const char *name, hid_t lapl_id); //span metadata //name name //map hid loc_id //map hid lapl_id //error result < 0
herr_t H5Lget_info(hid_t loc_id, const char *name, H5L_info_t *linfo, hid_t lapl_id); //span metadata //name name //map hid loc_id //map hid lapl_id //error result < 0
herr_t H5Literate(hid_t grp_id, H5_index_t idx_type, H5_iter_order_t order, hsize_t *idx, H5L_iterate_t op, void *op_data); //span metadata //map hid grp_id //error result < 0
//pass op visit_link //pass op_data NULL
herr_t H5Lvisit(hid_t grp_id, H5_index_t idx_type, H5_iter_order_t order, H5L_iterate_t op, void *op_data); //span metadata //map hid grp_id //error result < 0
//pass op visit_link //pass op_data NULL
hid_t H5Oopen(hid_t loc_id, const char *name, hid_t lapl_id); //span open //name name //map hid loc_id //map hid lapl_id //define hid result //error result < 0
hid_t H5Oopen_by_idx(hid_t loc_id, const char *group_name, H5_index_t idx_type, H5_iter_order_t order, hsize_t n, hid_t lapl_id); //span open //name group_name //map hid loc_id //map hid lapl_id //define hid result //error result < 0
herr_t H5Ocopy(hid_t src_loc_id, const char *src_name, hid_t dst_loc_id, const char *dst_name, hid_t ocpypl_id, hid_t lcpl_id); //span write //name src_name dst_name //map hid src_loc_id //map hid dst_loc_id //map hid ocpypl_id //map hid lcpl_id //error result < 0
herr_t H5Olink(hid_t obj_id, hid_t new_loc_id, const char *new_name, hid_t lcpl_id, hid_t lapl_id); //span metadata //name new_name //map hid obj_id //map hid new_loc_id //map hid lcpl_id //map hid lapl_id //error result < 0
herr_t H5Oclose(hid_t object_id); //span close //undefine hid object_id //error result < 0
herr_t H5Oflush(hid_t obj_id); //span sync //map hid obj_id //error result < 0
herr_t H5Orefresh(hid_t oid); //span metadata //map hid oid //error result < 0
htri_t H5Oexists_by_name(hid_t loc_id, const char *name, hid_t lapl_id); //span metadata //name name //map hid loc_id //map hid lapl_id //error result < 0
herr_t H5Oget_info2(hid_t loc_id, H5O_info_t *oinfo, unsigned fields); //span metadata //map hid loc_id //error result < 0
herr_t H5Oget_info_by_name2(hid_t loc_id, const char *name, H5O_info_t *oinfo, unsigned fields, hid_t lapl_id); //span metadata //name name //map hid loc_id //map hid lapl_id //error result < 0
herr_t H5Ovisit2(hid_t obj_id, H5_index_t idx_type, H5_iter_order_t order, H5O_iterate_t op, void *op_data, unsigned fields); //span metadata //map hid obj_id //error result < 0
//pass op visit_object //pass op_data NULL

// Types that are kept in a file.
herr_t H5Tcommit2(hid_t loc_id, const char *name, hid_t type_id, hid_t lcpl_id, hid_t tcpl_id, hid_t tapl_id); //span metadata //name name //map hid loc_id //map hid type_id //map hid lcpl_id //map hid tcpl_id //map hid tapl_id //error result < 0
hid_t H5Topen2(hid_t loc_id, const char *name, hid_t tapl_id); //span open //name name //map hid loc_id //map hid tapl_id //define hid result //error result < 0

// Types, data spaces and property lists: they move no data, but a player needs them.
hid_t H5Tcopy(hid_t type_id); //span setup //map hid type_id //define hid result //error result < 0
hid_t H5Tcreate(H5T_class_t type, size_t size); //span setup //define hid result //error result < 0
herr_t H5Tinsert(hid_t parent_id, const char *name, size_t offset, hid_t member_id); //span setup //name name //map hid parent_id //map hid member_id //error result < 0
herr_t H5Tset_size(hid_t type_id, size_t size); //span setup //map hid type_id //error result < 0
hid_t H5Tget_native_type(hid_t type_id, H5T_direction_t direction); //span setup //map hid type_id //define hid result //error result < 0
hid_t H5Tvlen_create(hid_t base_id); //span setup //map hid base_id //define hid result //error result < 0
hid_t H5Tarray_create2(hid_t base_id, unsigned ndims, const hsize_t dim[ ]); //span setup //map hid base_id //define hid result //error result < 0
//array dim ndims
herr_t H5Tclose(hid_t type_id); //span setup //undefine hid type_id //error result < 0
hid_t H5Screate(H5S_class_t type); //span setup //define hid result //error result < 0
hid_t H5Screate_simple(int rank, const hsize_t dims[], const hsize_t maxdims[]); //span setup //define hid result //array dims rank //error result < 0
//array maxdims rank
hid_t H5Scopy(hid_t space_id); //span setup //map hid space_id //define hid result //error result < 0
herr_t H5Sset_extent_simple(hid_t space_id, int rank, const hsize_t dims[], const hsize_t max[]); //span setup //map hid space_id //error result < 0
//array dims rank //array max rank
herr_t H5Sselect_hyperslab(hid_t space_id, H5S_seloper_t op, const hsize_t start[], const hsize_t stride[], const hsize_t count[], const hsize_t block[]); //span setup //map hid space_id //error result < 0
//array start 6 //array stride 6 //array count 6 //array block 6
herr_t H5Sselect_elements(hid_t space_id, H5S_seloper_t op, size_t num_elem, const hsize_t *coord); //span setup //map hid space_id //error result < 0
herr_t H5Sselect_all(hid_t spaceid); //span setup //map hid spaceid //error result < 0
herr_t H5Sselect_none(hid_t spaceid); //span setup //map hid spaceid //error result < 0
herr_t H5Sclose(hid_t space_id); //span setup //undefine hid space_id //error result < 0
hid_t H5Pcreate(hid_t cls_id); //span setup //map hid cls_id //define hid result //error result < 0
hid_t H5Pcopy(hid_t plist_id); //span setup //map hid plist_id //define hid result //error result < 0
herr_t H5Pset_chunk(hid_t plist_id, int ndims, const hsize_t dim[ ]); //span setup //map hid plist_id //error result < 0
//array dim ndims
herr_t H5Pset_deflate(hid_t plist_id, unsigned level); //span setup //map hid plist_id //error result < 0
herr_t H5Pset_shuffle(hid_t plist_id); //span setup //map hid plist_id //error result < 0
herr_t H5Pset_layout(hid_t plist_id, H5D_layout_t layout); //span setup //map hid plist_id //error result < 0
herr_t H5Pset_fill_time(hid_t plist_id, H5D_fill_time_t fill_time); //span setup //map hid plist_id //error result < 0
herr_t H5Pset_alloc_time(hid_t plist_id, H5D_alloc_time_t alloc_time); //span setup //map hid plist_id //error result < 0
herr_t H5Pset_libver_bounds(hid_t plist_id, H5F_libver_t low, H5F_libver_t high); //span setup //map hid plist_id //error result < 0
herr_t H5Pset_alignment(hid_t fapl_id, hsize_t threshold, hsize_t alignment); //span setup //map hid fapl_id //error result < 0
herr_t H5Pset_cache(hid_t plist_id, int mdc_nelmts, size_t rdcc_nslots, size_t rdcc_nbytes, double rdcc_w0); //span setup //map hid plist_id //error result < 0
//pass rdcc_w0 0.75
herr_t H5Pset_chunk_cache(hid_t dapl_id, size_t rdcc_nslots, size_t rdcc_nbytes, double rdcc_w0); //span setup //map hid dapl_id //error result < 0
//pass rdcc_w0 0.75
herr_t H5Pset_sieve_buf_size(hid_t fapl_id, size_t size); //span setup //map hid fapl_id //error result < 0
herr_t H5Pset_fapl_core(hid_t fapl_id, size_t increment, hbool_t backing_store); //span setup //map hid fapl_id //error result < 0
herr_t H5Pset_create_intermediate_group(hid_t plist_id, unsigned crt_intmd); //span setup //map hid plist_id //error result < 0
herr_t H5Pclose(hid_t plist_id); //span setup //undefine hid plist_id //error result < 0
