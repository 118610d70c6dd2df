import CoreData

extension PlainValue {
  /// A value of `type`; the same ones recur, so that there is something to find and to compare.
  static func random(_ type: NSAttributeType, isLarge: Bool, _ dice: inout Dice) -> PlainValue {
    switch type {
    case .integer16AttributeType: .integer(dice.chance(10) ? Int64(Int16.min) : small(&dice))
    case .integer32AttributeType: .integer(dice.chance(10) ? Int64(Int32.max) : small(&dice))
    case .integer64AttributeType:
      .integer(dice.chance(10) ? 9_007_199_254_740_993 : dice.chance(10) ? .min : small(&dice))
    case .decimalAttributeType: .decimal(decimal(&dice))
    case .doubleAttributeType: .double(dice.chance(20) ? 0.1 * Double(dice.roll(1000)) : Double(small(&dice)))
    case .floatAttributeType: .float(Float(small(&dice)) / 4)
    case .stringAttributeType: .text(isLarge ? longText(&dice) : word(&dice))
    case .booleanAttributeType: .truth(dice.chance(50))
    case .dateAttributeType: .date(Double(small(&dice)) * 86_400.125)
    case .binaryDataAttributeType: .data(bytes(isLarge ? 9_000 : 40, &dice))
    case .UUIDAttributeType: .uuid(uuid(&dice))
    case .URIAttributeType: .url("https://example.org/\(word(&dice).count)/\(dice.roll(9))")
    default: .none
    }
  }

  private static func small(_ dice: inout Dice) -> Int64 { Int64(dice.roll(20)) - 5 }

  private static func decimal(_ dice: inout Dice) -> Decimal {
    let small = Decimal(dice.roll(4000) - 900) / 4
    if dice.chance(60) { return small }
    // As many digits as a decimal has, at any place.
    let digits = (0..<(dice.chance(50) ? 38 : 1 + dice.roll(37))).map { _ in String(dice.roll(10)) }
    let number = (small < 0 ? "-" : "") + digits.joined() + "e\(dice.roll(60) - 40)"
    return Decimal(string: number) ?? small
  }

  /// A short word, letters of more than one byte among them.
  private static func word(_ dice: inout Dice) -> String {
    let letters = Array("abcABäßé🌿 ")
    return String((0..<dice.roll(5)).map { _ in letters[dice.roll(letters.count)] })
  }

  private static func longText(_ dice: inout Dice) -> String {
    String(repeating: "lorem ", count: dice.chance(50) ? 2_000 : 3) + word(&dice)
  }

  private static func bytes(_ most: Int, _ dice: inout Dice) -> Data {
    Data(repeating: UInt8(dice.roll(256)), count: dice.roll(most))
  }

  private static func uuid(_ dice: inout Dice) -> UUID {
    let last = UInt8(dice.roll(12))
    return UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, last))
  }
}
