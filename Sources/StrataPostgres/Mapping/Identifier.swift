import Foundation
import StrataCore

/// Names of tables, columns and indexes.
enum Identifier {
  /// The server cuts longer names, with a notice only: two of them could become one.
  static let longest = 63

  /// The name in double quotes, as every statement has it.
  static func quoted(_ name: String) -> String {
    // Hardly any name has one in it, and looking is cheap.
    let isPlain = !name.utf8.contains(UInt8(ascii: "\""))
    return "\"" + (isPlain ? name : name.replacing(mark: "\"", with: "\"\"")) + "\""
  }

  /// The name without the quotes. By scalars: a quote and a combining mark behind it are one character.
  static func plain(_ quoted: String) -> String {
    var scalars = String.UnicodeScalarView()
    var isFirst = false
    for scalar in quoted.unicodeScalars.dropFirst().dropLast() {
      // Each quote within the name stands twice.
      if scalar == "\"" {
        isFirst.toggle()
        if !isFirst { continue }
      }
      scalars.append(scalar)
    }
    return String(scalars)
  }

  /// - Throws: ``StorageError`` `.invalid` for a name that the server does not take as it is.
  static func check(_ name: String) throws {
    guard !name.isEmpty, name.utf8.count <= longest, !name.unicodeScalars.contains("\0") else {
      throw StorageError(
        .invalid, operation: "open store", path: "",
        detail: "A name on PostgreSQL has 1 to \(longest) bytes and no NUL; “\(name)” has \(name.utf8.count)."
      )
    }
  }

  /// Words in lower case with lines between them: `postalCode` becomes `postal_code`, `URLPath` `url_path`.
  static func snake(_ name: String) -> String {
    var result = ""
    let scalars = Array(name.unicodeScalars)
    for (place, scalar) in scalars.enumerated() {
      let isUpper = CharacterSet.uppercaseLetters.contains(scalar)
      if isUpper, place > 0, result.last != "_" {
        let previous = scalars[place - 1]
        let followsLower =
          CharacterSet.lowercaseLetters.contains(previous) || CharacterSet.decimalDigits.contains(previous)
        let endsWord =
          CharacterSet.uppercaseLetters.contains(previous) && place + 1 < scalars.count
          && CharacterSet.lowercaseLetters.contains(scalars[place + 1])
        if followsLower || endsWord { result += "_" }
      }
      switch scalar {
      case ".", " ", "-": result += "_"
      case "\0": result += "_"
      default: result += String(scalar).lowercased()
      }
    }
    return result
  }
}

/// Gives names out, each once: too long ones and those that are taken end with a part of their hash.
struct NamesGiven {
  private var taken: Set<String>
  /// Longer names are shortened, so that there is room for what is put behind them.
  private static let longest = 55

  init(reserved: Set<String> = []) { taken = reserved }

  /// Keeps what the server calls the index of a table's primary key from being another table's name.
  mutating func reserveKey(ofTable name: String) { taken.insert(name + "_pkey") }

  /// A name for what is called `path` in the model. The same for the same paths in the same order.
  mutating func name(_ wanted: String, path: String) -> String {
    let wanted = wanted.isEmpty ? "_" : wanted
    if wanted.utf8.count <= Self.longest, taken.insert(wanted).inserted { return wanted }
    var short = ""
    for character in wanted {
      if short.utf8.count + String(character).utf8.count > 46 { break }
      short.append(character)
    }
    var salt = 0
    while true {
      let name = short + "_" + Self.hash(path + (salt == 0 ? "" : "#\(salt)"))
      if taken.insert(name).inserted { return name }
      salt += 1
    }
  }

  /// Eight hexadecimal digits, the same in every process.
  private static func hash(_ text: String) -> String {
    let hash = text.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let folded = UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
    let digits = String(folded, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}
