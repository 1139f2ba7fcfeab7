# Writes a file as a C++ string literal, at build time:
#   cmake -D FILE=room.html -D EMBED=room.html.inc -P EmbedFile.cmake
# In pieces, because compilers bound the length of one literal.
file(READ "${FILE}" text)
string(LENGTH "${text}" length)
set(out "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND out "R\"embedded(${piece})embedded\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE "${EMBED}" "${out}")
