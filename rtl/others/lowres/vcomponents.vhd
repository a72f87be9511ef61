-- What LowRes takes of Xilinx's library UNISIM: the declaration of the DSP slice (ports of UG953).
-- Its model, for simulation alone, is dsp48e1.v.
library ieee;
use ieee.std_logic_1164.all;

package vcomponents is
    component DSP48E1
        generic (
            ACASCREG : integer := 1;
            ADREG : integer := 1;
            ALUMODEREG : integer := 1;
            AREG : integer := 1;
            BCASCREG : integer := 1;
            BREG : integer := 1;
            CARRYINREG : integer := 1;
            CARRYINSELREG : integer := 1;
            CREG : integer := 1;
            DREG : integer := 1;
            INMODEREG : integer := 1;
            MREG : integer := 1;
            OPMODEREG : integer := 1;
            PREG : integer := 1;
            AUTORESET_PATDET : string := "NO_RESET";
            A_INPUT : string := "DIRECT";
            B_INPUT : string := "DIRECT";
            MASK : bit_vector := X"3FFFFFFFFFFF";
            PATTERN : bit_vector := X"000000000000";
            SEL_MASK : string := "MASK";
            SEL_PATTERN : string := "PATTERN";
            USE_DPORT : boolean := false;
            USE_MULT : string := "MULTIPLY";
            USE_PATTERN_DETECT : string := "NO_PATDET";
            USE_SIMD : string := "ONE48"
        );
        port (
            ACOUT : out std_logic_vector(29 downto 0);
            BCOUT : out std_logic_vector(17 downto 0);
            CARRYCASCOUT : out std_logic;
            CARRYOUT : out std_logic_vector(3 downto 0);
            MULTSIGNOUT : out std_logic;
            OVERFLOW : out std_logic;
            P : out std_logic_vector(47 downto 0);
            PATTERNBDETECT : out std_logic;
            PATTERNDETECT : out std_logic;
            PCOUT : out std_logic_vector(47 downto 0);
            UNDERFLOW : out std_logic;
            A : in std_logic_vector(29 downto 0);
            ACIN : in std_logic_vector(29 downto 0);
            ALUMODE : in std_logic_vector(3 downto 0);
            B : in std_logic_vector(17 downto 0);
            BCIN : in std_logic_vector(17 downto 0);
            C : in std_logic_vector(47 downto 0);
            CARRYCASCIN : in std_logic;
            CARRYIN : in std_logic;
            CARRYINSEL : in std_logic_vector(2 downto 0);
            CEA1 : in std_logic;
            CEA2 : in std_logic;
            CEAD : in std_logic;
            CEALUMODE : in std_logic;
            CEB1 : in std_logic;
            CEB2 : in std_logic;
            CEC : in std_logic;
            CECARRYIN : in std_logic;
            CECTRL : in std_logic;
            CED : in std_logic;
            CEINMODE : in std_logic;
            CEM : in std_logic;
            CEP : in std_logic;
            CLK : in std_logic;
            D : in std_logic_vector(24 downto 0);
            INMODE : in std_logic_vector(4 downto 0);
            MULTSIGNIN : in std_logic;
            OPMODE : in std_logic_vector(6 downto 0);
            PCIN : in std_logic_vector(47 downto 0);
            RSTA : in std_logic;
            RSTALLCARRYIN : in std_logic;
            RSTALUMODE : in std_logic;
            RSTB : in std_logic;
            RSTC : in std_logic;
            RSTCTRL : in std_logic;
            RSTD : in std_logic;
            RSTINMODE : in std_logic;
            RSTM : in std_logic;
            RSTP : in std_logic
        );
    end component;
end vcomponents;
