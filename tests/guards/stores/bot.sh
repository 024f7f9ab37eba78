#!/bin/sh
# The application of the kept store: answers by the question's number.
while read -r line; do
    rest=${line#*\"id\":\"}; id=${rest%%\"*}
    rest=${line#*\"message\":\"Question }; n=${rest%%:*}
    refunds='{"doc":"refunds","chunk":"refunds#2","text":"Refunds take 14 days, always.","score":7.1}'
    plans='{"doc":"plans","chunk":"plans#0","text":"Plans and their prices.","score":3.5}'
    tail='"usage":{"input":512,"output":40},"cost_usd":0.0021,"model":"bot-1","meta":{"index":"v3"}'
    case $n in
        3) echo "{\"id\":\"$id\",\"output\":\"14 days\",\"usage\":{\"input\":10,\"output\":2}}" ;;
        8) echo "{\"id\":\"$id\",\"output\":\"right 8: 14 days [refunds#2]\",\"retrieved\":[$refunds,$plans],$tail}" ;;
        9) echo "{\"id\":\"$id\",\"output\":\"right 9 [plans#0]\",\"retrieved\":[$plans],$tail}" ;;
        10) echo "about to give up on $n" >&2; exit 65 ;;
        11) echo "{\"id\":\"$id\",\"error\":\"no index for $n\"}" ;;
        12) echo "{\"id\":\"$id\",\"output\":\"It is right 12.\",\"retrieved\":[]}" ;;
        *) echo "{\"id\":\"$id\",\"output\":\"It is right $n.\",$tail}" ;;
    esac
done
