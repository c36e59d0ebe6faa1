# cmake -DFROM=FILE -DTO=HEADER -DNAME=name -P Bytes.cmake: a header with the bytes of a file.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "#pragma once\n\nalignas(8) inline constexpr unsigned char ${NAME}[] = {\n${bytes}\n};\n")
