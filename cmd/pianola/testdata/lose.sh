# Records reads with a buffer that is too small for them, since the recorder is
# stopped while they run. Its parent knows: it waits for a pipe's end, not for
# some time.
mkfifo gate end
pianola record --ring 1MiB -o t.txt -- sh -c 'read x <gate; dd if=/dev/zero of=/dev/null bs=1 count=30000 2>/dev/null; echo x >end' &
recorder=$!
exec 3>gate # opens when the command does
kill -STOP $recorder
echo go >&3
read x <end
kill -CONT $recorder
wait $recorder
echo $?
