#pragma once
// A key of a manager and a token that it has signed. The private key is lost.

#include <string_view>

namespace ob::fuzz {

inline constexpr std::string_view kLeaseKid = "46ed6b0a014a6bfe";
/// In base64.
inline constexpr std::string_view kLeaseKeyDer =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEkdQx7YRRRVad+eZvBcwMt+8qemgCV6xi4FKCzuCda6JRa82RNOjTDK"
    "P/eC11yDo7OsQRfYkkZOOWsFWOsauuFA==";
inline constexpr std::string_view kLeaseToken =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IjQ2ZWQ2YjBhMDE0YTZiZmUifQ.eyJpc3MiOiIwMTIzNDU2Nzg5YWJjZGVmIiw"
    "iYXVkIjoibm9kZTciLCJkZXYiOiJHUFUtN2QyZiIsInN1YiI6ImNlcnRpZmljYXRlIGFkYSIsImp0aSI6IjAwMTEiL"
    "CJlcG8iOjUsImZsbyI6MywibW9kIjoicyIsIm1lbSI6MTA3Mzc0MTgyNCwic2hyIjoyNTAsInNlcyI6NjQsInJndCI"
    "6ImNhbGxzIiwiaWF0IjoxNzkwMDAwMDAwLCJleHAiOjE3OTAwMDAwMzAsInJldiI6ODEyMzQ1LCJ1aWQiOjEwMDB9."
    "SiOX3eqiYiNlZH5OgsfVMeqFKEP0xNbCzA-LqU70uanffI4ne2zpMsp7SJAuHKB9YQuh41RuoIPkIGBky0u44w";
inline constexpr std::string_view kLeaseClaims =
    R"({"iss":"0123456789abcdef","aud":"node7","dev":"GPU-7d2f","sub":"certificate ada")"
    R"(,"jti":"0011","epo":5,"flo":3,"mod":"s","mem":1073741824,"shr":250,"ses":64,"rgt)"
    R"(":"calls","iat":1790000000,"exp":1790000030,"rev":812345,"uid":1000})";

}  // namespace ob::fuzz
